import { Watch } from '../../../progress/watch.js';
import { createReporter } from '../../live.js';
import { givenPaths } from '../given-paths.js';
import { readPage } from '../page.js';
import { bundleFiles } from './bundle-files.js';
import { writePage } from './write-bundle.js';

/** A path, and the view of it that the page opens at. */
export interface OnePath {
  path: string;
  /** The view of the run, as in the address: `findings`, `step/12`. Without it the page opens at the list of runs. */
  place?: string;
  /** Some of the files below the path; all that a reader may read when not given. */
  only?: readonly string[];
}

/**
 * Writes the page of one path as one file, and says so: `grpo doctor --html`, `grpo step --html`.
 *
 * @throws UserError where the data is too large
 */
export function writeOnePage(out: string, { path, place, only }: OnePath): void {
  using reporter = createReporter({ stream: process.stderr });
  const given = givenPaths([path]).map((one) => ({ ...one, ...(only && { only }) }));
  const start = place && `#/run/${encodeURIComponent(`/${given[0]!.name}`)}/${place}`;
  const files = bundleFiles(given, reporter.note);
  writePage(out, { page: readPage(), files, watch: new Watch(reporter), ...(start && { start }) });
  reporter.close();
  process.stderr.write(`Page: ${out}\n`);
}
