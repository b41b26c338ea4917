import { UsageError } from '../errors/user-error.js';
import { type Environment, numberIn } from './variables.js';

/** A process among those of a run, and where they meet. */
export interface ProcessPlace {
  rank: number;
  size: number;
  /** Of those on this machine. */
  localRank: number;
  localSize: number;
  host: string;
  port: number;
}

/** Below the ports that systems hand out by themselves. */
const PORTS = { first: 15_000, count: 10_000 };

/**
 * This process as a task of a job step of Slurm; undefined outside of one. The shell of `salloc` and the script of `sbatch`
 * have the job's variables too, and are no task: only `srun` sets those of a step.
 */
export function slurmTask(env: Environment): ProcessPlace | undefined {
  const size = numberIn(env, 'SLURM_STEP_NUM_TASKS', 1);
  const rank = numberIn(env, 'SLURM_PROCID');
  if (size === undefined || size === 1 || rank === undefined) return undefined;
  const nodes = env.SLURM_STEP_NODELIST ?? env.SLURM_NODELIST;
  const job = numberIn(env, 'SLURM_JOB_ID');
  if (!nodes || job === undefined) {
    throw new UsageError(
      `this is task ${rank} of ${size} of srun, but ${nodes ? 'SLURM_JOB_ID' : 'SLURM_STEP_NODELIST'} is not set, from which the others are found`,
      {
        hint: 'Set MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE yourself, or pass all variables of srun on.',
      },
    );
  }
  const step = numberIn(env, 'SLURM_STEP_ID') ?? 0;
  return {
    rank,
    size,
    localRank: numberIn(env, 'SLURM_LOCALID') ?? 0,
    localSize: tasksHere(env) ?? 1,
    host: firstNode(nodes),
    port: PORTS.first + ((job + step) % PORTS.count),
  };
}

/** The first host of a list such as `node[01-03,07],gpu1`. */
export function firstNode(list: string): string {
  const [first] = /^(?:[^,[]|\[[^\]]*\])+/.exec(list)!;
  return first.replace(/\[([^\],-]*)[^\]]*\]/g, '$1');
}

/** How many tasks of the step are on this node, from a list such as `2(x3),1`, by node. */
function tasksHere(env: Environment): number | undefined {
  const list = env.SLURM_STEP_TASKS_PER_NODE ?? env.SLURM_TASKS_PER_NODE;
  if (!list) return numberIn(env, 'SLURM_NTASKS_PER_NODE', 1);
  const perNode = list.split(',').flatMap((part) => {
    const [, tasks, nodes = '1'] = /^(\d+)(?:\(x(\d+)\))?$/.exec(part) ?? [];
    if (tasks === undefined)
      throw new UsageError(`SLURM_STEP_TASKS_PER_NODE must be a list such as 2(x3),1, found '${list}'`);
    return Array<number>(Number(nodes)).fill(Number(tasks));
  });
  return perNode[numberIn(env, 'SLURM_NODEID') ?? 0];
}
