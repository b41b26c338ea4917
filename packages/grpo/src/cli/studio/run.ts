import { existsSync } from 'node:fs';
import { UsageError } from '../../config/index.js';
import { wholeNumber } from '../../errors/whole-number.js';
import { LOOPBACK, MOST_PORT } from '../../http/address.js';
import type { CommandArguments } from '../command.js';
import { bundleRuns } from './bundle/bundle-runs.js';
import { givenPaths } from './given-paths.js';
import { openBrowser } from './open-browser.js';
import { readPage } from './page.js';
import { startServer } from './server/start-server.js';

/** The folder that training writes runs into. */
const RUNS = 'runs';

/** `grpo studio`: serves the page of runs until Ctrl-C, or writes it with its data. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  if (flags.bundle !== undefined) {
    const stray = Object.keys(flags).find((name) => name !== 'bundle');
    if (stray !== undefined)
      throw new UsageError(`--bundle starts no server: --${stray} does not go with it`);
    return bundleRuns(flags.bundle as string, operands);
  }
  const port = wholeNumber('--port', flags.port, { most: MOST_PORT });
  const paths = operands.length > 0 ? operands : defaultPaths();
  const given = givenPaths(paths);
  const server = await startServer({
    given,
    page: readPage(),
    host: (flags.host as string | undefined) ?? LOOPBACK,
    port,
    needsToken: flags.token === true,
    report: (text) => process.stderr.write(`${text}\n`),
  });
  if (flags.open && server.isSecret) {
    server.close();
    // Every user of the machine can read the browser's command line.
    throw new UsageError('--open would show the token to other users: open the printed link.');
  }
  const lines = [`Studio of ${paths.join(', ')}: ${server.url}`];
  if (server.isSecret) lines.push('Whoever has this link can read these paths.');
  if (!server.isLoopback)
    lines.push(
      'The connection is not encrypted. Where that matters, use 127.0.0.1 and ssh -L (docs/studio.md).',
    );
  process.stdout.write(`${lines.join('\n')}\nCtrl-C ends it.\n`);
  if (flags.open) openBrowser(server.url, (text) => process.stderr.write(`${text}\n`));
  await server.closed;
  return 0;
}

function defaultPaths(): string[] {
  if (existsSync(RUNS)) return [RUNS];
  throw new UsageError(`No path is given, and there is no folder ${RUNS} here.`, {
    hint: 'A folder of runs, a run, a step record, an output folder of TRL or a log: grpo studio PATH',
  });
}
