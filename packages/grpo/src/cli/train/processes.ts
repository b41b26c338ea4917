import { UsageError } from '../../errors/user-error.js';
import { wholeNumber } from '../../errors/whole-number.js';
import { launch } from '../../processes/launch.js';
import { rendezvous } from '../../processes/rendezvous.js';
import type { CommandArguments } from '../command.js';
import { CAUSES, ECHO_MS, SIGNALS } from '../interrupt.js';

/** More on one machine are a slip of the finger. */
const MOST = 512;

/**
 * `grpo train --processes N`: starts N processes of the same command on this machine and waits for them. A signal goes to
 * all, who agree on where to stop; after a second Ctrl-C none is left.
 */
export async function run({ flags }: CommandArguments): Promise<number> {
  const size = wholeNumber('--processes', flags.processes, { least: 1, most: MOST })!;
  const found = rendezvous();
  if (found)
    throw new UsageError(
      `--processes ${size}, but this already is rank ${found.rank} of ${found.size} of a run that another launcher has started`,
      { hint: 'Leave --processes out: torchrun, srun and Kubernetes start the processes themselves.' },
    );
  const launched = launch(withoutFlag(process.argv.slice(1)), size, (text) => {
    // The live line of rank 0 may stand there.
    process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[2K' : ''}grpo: ${text}\n`);
  });
  let first: { signal: (typeof SIGNALS)[number]; time: number } | undefined;
  const pass = (signal: (typeof SIGNALS)[number]) => {
    if (first && signal === 'SIGINT' && performance.now() - first.time > ECHO_MS) launched.send('SIGKILL');
    else if (!first) launched.send(signal);
    first ??= { signal, time: performance.now() };
  };
  for (const name of SIGNALS) process.on(name, pass);
  const code = await launched.ended;
  for (const name of SIGNALS) process.off(name, pass);
  return first && code !== 0 ? CAUSES[first.signal] : code;
}

/** The command line of each process. */
function withoutFlag(argv: readonly string[]): string[] {
  const at = argv.indexOf('--processes');
  const kept = at < 0 ? argv : argv.toSpliced(at, 2);
  return kept.filter((word) => !word.startsWith('--processes='));
}
