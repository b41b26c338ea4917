import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Watch } from '../../../progress/watch.js';
import { createReporter } from '../../live.js';
import { givenPaths } from '../given-paths.js';
import { readPage } from '../page.js';
import { bundleFiles } from './bundle-files.js';
import { writeBundle } from './write-bundle.js';

/** `grpo studio --bundle OUT PATH…`: writes the page of some paths, or that of the doctor, and says how to open it. */
export function bundleRuns(out: string, paths: readonly string[]): number {
  using reporter = createReporter({ stream: process.stderr });
  const files = bundleFiles(givenPaths(paths), reporter.note);
  const needsServer = writeBundle(out, { page: readPage(), files, watch: new Watch(reporter) });
  reporter.close();
  const page = join(out, 'index.html');
  process.stdout.write(
    needsServer
      ? `Page: ${page}\nIts data is too large to stand in one file and lies beside it: any static file server shows it (npx serve ${out}).\n`
      : `Page: ${pathToFileURL(page)}\n`,
  );
  return 0;
}
