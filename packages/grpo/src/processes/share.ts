/** What one process takes of a machine that it shares with others of its run. */
import { availableParallelism } from 'node:os';
import type { ResolvedConfig } from '../config/index.js';
import { byteCount } from '../errors/byte-count.js';
import { rendezvous } from './rendezvous.js';
import { type Environment, numberIn } from './variables.js';

/**
 * The settings of one process: its threads, where they are not configured, and its part of `memory`. The record of a run
 * keeps what the machine has, so that it goes on with another number of processes.
 *
 * @param resolved - with `memory` in bytes
 * @returns them, and a note where they are not what the environment asks for
 */
export function shareOfMachine(
  resolved: ResolvedConfig,
  env: Environment = process.env,
  cores = availableParallelism(),
): { shared: ResolvedConfig; note?: string | undefined } {
  const { localSize = 1 } = rendezvous(env) ?? {};
  if (localSize === 1) return { shared: resolved };
  const { config, provenance } = resolved;
  const { threads, note } =
    config.threads === undefined ? threadsOf(env, cores, localSize) : { threads: config.threads };
  const memory = Math.floor((config.memory as number) / localSize);
  const source = `${provenance.memory}, ${byteCount(config.memory as number)} shared by ${localSize} processes`;
  return {
    shared: {
      ...resolved,
      config: { ...config, memory, ...(threads !== undefined && { threads }) },
      provenance: { ...provenance, memory: source },
    },
    note,
  };
}

function threadsOf(
  env: Environment,
  cores: number,
  localSize: number,
): { threads: number | undefined; note?: string } {
  const bound = numberIn(env, 'SLURM_CPUS_PER_TASK', 1);
  if (bound !== undefined) return { threads: bound };
  const asked = env.OMP_NUM_THREADS;
  // torchrun sets 1 where nobody has set anything.
  const isDefault = asked === '1' && env.TORCHELASTIC_RUN_ID !== undefined;
  if (asked && !isDefault) return { threads: undefined };
  const threads = Math.max(1, Math.floor(cores / localSize));
  return isDefault && threads > 1
    ? {
        threads,
        note: `Threads: ${threads} per process, since ${localSize} processes share ${cores} cores. OMP_NUM_THREADS=1 is what torchrun sets by itself; threads=1 keeps it.`,
      }
    : { threads };
}
