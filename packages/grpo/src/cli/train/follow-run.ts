import type { ResolvedConfig } from '../../config/index.js';
import { joinPeers } from '../../processes/join-peers.js';
import { Abandoned } from '../../progress/watch.js';
import { follow } from '../../run/ranks/follow.js';
import { CAUSES, endWithLauncher, interruptible } from '../interrupt.js';
import { hearSignals } from '../training.js';
import { labelErrors } from './label-errors.js';

/**
 * `grpo train` in a process whose rank is not 0: it takes its share of the steps that rank 0 leads. Rank 0 says how the run
 * goes; this one only says what goes wrong, with its rank before each line.
 */
export async function followRun(resolved: ResolvedConfig, rank: number): Promise<number> {
  labelErrors(`rank ${rank}`);
  const quiet = () => {};
  using interrupt = interruptible(quiet, '');
  endWithLauncher();
  try {
    await using peers = (await joinPeers(resolved.config, quiet, interrupt.signal))!;
    const observer = { progress: hearSignals() };
    const { interrupted } = await follow(resolved, peers, { signal: interrupt.signal, observer });
    // Launchers that restart each process by its own exit code restart all of them.
    return interrupted ? interrupt.exitCode || CAUSES.SIGTERM : 0;
  } catch (error) {
    if (error instanceof Abandoned) return interrupt.exitCode;
    throw error;
  }
}
