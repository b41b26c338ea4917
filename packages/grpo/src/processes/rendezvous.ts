import { UsageError } from '../errors/user-error.js';
import { type ProcessPlace, slurmTask } from './slurm.js';
import { assignments, type Environment, numberIn } from './variables.js';

/** Where the processes of a run meet, and which of them this one is. */
export interface Rendezvous extends ProcessPlace {
  /** Rank 0 serves the store, unless an agent of torchrun owns the port. */
  servesStore: boolean;
  prefix?: string;
}

/** What a process needs to know, in the words of PyTorch's launchers. */
const NEEDED = ['WORLD_SIZE', 'RANK', 'MASTER_ADDR', 'MASTER_PORT'] as const;

/**
 * Where to meet the other processes of this run, from the variables of torchrun, of Kubernetes' PyTorchJob and JobSet, and
 * of Slurm's srun; undefined where this process is alone.
 *
 * @throws UsageError: variables are missing, contradict each other, or are not numbers
 */
export function rendezvous(env: Environment = process.env): Rendezvous | undefined {
  const slurm = slurmTask(env);
  const size = numberIn(env, 'WORLD_SIZE', 1) ?? slurm?.size;
  const rank = numberIn(env, 'RANK') ?? slurm?.rank ?? (size && numberIn(env, 'JOB_COMPLETION_INDEX'));
  if (size === undefined && rank === undefined) return undefined;
  if (slurm && !isNested(env)) requireAgreement(env, slurm, { rank: rank!, size: size! });
  if (size === 1 && (rank ?? 0) === 0) return undefined;
  const host = env.MASTER_ADDR || slurm?.host;
  // Rank 0 may take any port that is free; the others have to know it.
  const port = numberIn(env, 'MASTER_PORT', rank === 0 ? 0 : 1) ?? slurm?.port;
  if (size === undefined || rank === undefined || host === undefined || port === undefined)
    throw halfSet(env);
  if (rank >= size)
    throw new UsageError(`RANK=${rank}, but WORLD_SIZE=${size}: ranks go from 0 to ${size - 1}`, {
      hint: ALONE,
    });
  const localSize = numberIn(env, 'LOCAL_WORLD_SIZE', 1) ?? slurm?.localSize ?? 1;
  const localRank = numberIn(env, 'LOCAL_RANK') ?? slurm?.localRank ?? 0;
  if (localSize > size || localRank >= localSize)
    throw new UsageError(
      `LOCAL_RANK=${localRank}, LOCAL_WORLD_SIZE=${localSize} and WORLD_SIZE=${size} contradict each other`,
      {
        hint: 'Of the WORLD_SIZE processes, LOCAL_WORLD_SIZE are on this machine, numbered by LOCAL_RANK from 0.',
      },
    );
  const attempt = numberIn(env, 'TORCHELASTIC_RESTART_COUNT');
  return {
    ...{ rank, size, localRank, localSize, host, port },
    servesStore: rank === 0 && env.TORCHELASTIC_USE_AGENT_STORE !== 'True',
    // The store of an agent outlives the attempt, with its keys.
    ...(attempt !== undefined && { prefix: `/worker/attempt_${attempt}` }),
  };
}

/** @throws UsageError where this process is one of several, for work that one does alone */
export function requireAlone(what: string): void {
  const found = rendezvous();
  if (!found) return;
  throw new UsageError(`${what} runs in one process, and this is rank ${found.rank} of ${found.size}`, {
    hint: 'Start it without torchrun, srun or MASTER_ADDR. grpo train goes with several processes.',
  });
}

/** Whether torchrun has started this process, perhaps itself a task of Slurm: its numbers are those that count. */
const isNested = (env: Environment) => env.TORCHELASTIC_RUN_ID !== undefined;

const ALONE = `To train in one process: env ${NEEDED.map((name) => `-u ${name}`).join(' ')} npx grpo train …`;

function halfSet(env: Environment): UsageError {
  const missing = NEEDED.filter((name) => !env[name]);
  return new UsageError(
    `the environment has ${assignments(env, NEEDED)}, but not ${missing.join(', ')}: a process needs all of them to find the others of its run`,
    { hint: `torchrun, PyTorchJob and grpo train --processes N set them. ${ALONE}` },
  );
}

function requireAgreement(
  env: Environment,
  slurm: { rank: number; size: number },
  { rank, size }: { rank: number; size: number },
): void {
  if (slurm.rank === rank && slurm.size === size) return;
  const given = ['RANK', 'WORLD_SIZE'].filter((name) => env[name]);
  throw new UsageError(
    `the environment has ${assignments(env, given)}, but this is task ${slurm.rank} of ${slurm.size} of srun`,
    { hint: `Unset ${given.join(' and ')}: Slurm's own variables are enough.` },
  );
}
