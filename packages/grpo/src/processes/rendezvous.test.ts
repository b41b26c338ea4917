import { describe, expect, it } from 'vitest';
import { UsageError } from '../errors/user-error.js';
import { rendezvous } from './rendezvous.js';
import { firstNode } from './slurm.js';
import type { Environment } from './variables.js';

const MASTER = { MASTER_ADDR: '10.0.0.1', MASTER_PORT: '29500' };

/** Rank 3 of 4 on two machines, as `torchrun --nnodes 2 --nproc-per-node 2` sets it. */
const TORCHRUN = {
  ...MASTER,
  ...{ RANK: '3', LOCAL_RANK: '1', WORLD_SIZE: '4', LOCAL_WORLD_SIZE: '2', GROUP_RANK: '1' },
  ...{ TORCHELASTIC_RESTART_COUNT: '0', TORCHELASTIC_RUN_ID: 'none', TORCHELASTIC_USE_AGENT_STORE: 'False' },
};

/** What a job of two nodes with 3 tasks sets in every shell of the allocation. */
const ALLOCATION = {
  ...{ SLURM_JOB_ID: '1234567', SLURM_NTASKS: '3', SLURM_NODELIST: 'node[07-08]' },
  ...{ SLURM_TASKS_PER_NODE: '2,1', SLURM_JOB_NAME: 'grpo' },
};

/** What `srun` adds for its third task. */
const SRUN = {
  ...ALLOCATION,
  ...{ SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '3', SLURM_STEP_NODELIST: 'node[07-08]' },
  ...{ SLURM_STEP_TASKS_PER_NODE: '2,1', SLURM_PROCID: '2', SLURM_LOCALID: '0', SLURM_NODEID: '1' },
};

function refusal(env: Environment): string {
  try {
    rendezvous(env);
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
  throw new Error('was not refused');
}

describe('the rendezvous', () => {
  it.each<[string, Environment]>([
    ['a shell', { HOME: '/root', MASTER_ADDR: 'left-over' }],
    ['one process of torchrun', { ...TORCHRUN, RANK: '0', WORLD_SIZE: '1', LOCAL_WORLD_SIZE: '1' }],
    ["a PyTorchJob's only pod", { RANK: '0', WORLD_SIZE: '1', ...MASTER }],
    ['an indexed Job that is no training of several', { JOB_COMPLETION_INDEX: '3' }],
    ["the shell of salloc, which has the job's variables", ALLOCATION],
    [
      'the script of sbatch, which has a task number',
      { ...ALLOCATION, SLURM_PROCID: '0', SLURM_LOCALID: '0' },
    ],
    ['srun of one task', { ...SRUN, SLURM_STEP_NUM_TASKS: '1', SLURM_PROCID: '0' }],
  ])('is none in %s', (_, env) => {
    expect(rendezvous(env)).toBeUndefined();
  });

  it('is that of torchrun', () => {
    expect(rendezvous(TORCHRUN)).toEqual({
      ...{ rank: 3, size: 4, localRank: 1, localSize: 2, host: '10.0.0.1', port: 29_500 },
      ...{ servesStore: false, prefix: '/worker/attempt_0' },
    });
  });

  it.each([
    ['True', false],
    ['False', true],
    [undefined, true],
  ])('with TORCHELASTIC_USE_AGENT_STORE=%s has a store that rank 0 serves: %s', (agent, serves) => {
    const env = { ...TORCHRUN, RANK: '0', LOCAL_RANK: '0', TORCHELASTIC_USE_AGENT_STORE: agent };
    expect(rendezvous(env)?.servesStore).toBe(serves);
  });

  it('of another attempt of torchrun has keys of its own in the store', () => {
    expect(rendezvous({ ...TORCHRUN, TORCHELASTIC_RESTART_COUNT: '2' })?.prefix).toBe('/worker/attempt_2');
  });

  it('is that of a PyTorchJob, one process per machine', () => {
    const env = { ...MASTER, MASTER_ADDR: 'run-master-0', RANK: '0', WORLD_SIZE: '3' };
    expect(rendezvous(env)).toEqual({
      ...{ rank: 0, size: 3, localRank: 0, localSize: 1, host: 'run-master-0', port: 29_500 },
      servesStore: true,
    });
  });

  it('takes the rank in a JobSet from the index of the pod', () => {
    const env = { ...MASTER, WORLD_SIZE: '4', JOB_COMPLETION_INDEX: '2' };
    expect(rendezvous(env)).toMatchObject({ rank: 2, size: 4, localSize: 1 });
  });

  it('is that of srun: on the first node, at a port of the job', () => {
    expect(rendezvous(SRUN)).toEqual({
      ...{ rank: 2, size: 3, localRank: 0, localSize: 1, host: 'node07', port: 19_567 },
      servesStore: false,
    });
    const first = { ...SRUN, SLURM_PROCID: '0', SLURM_NODEID: '0' };
    expect(rendezvous(first)).toMatchObject({ rank: 0, localSize: 2, servesStore: true, port: 19_567 });
    expect(rendezvous({ ...SRUN, SLURM_STEP_ID: '1' })?.port).toBe(19_568);
  });

  it('of srun is moved by MASTER_ADDR and MASTER_PORT, and filled in beside WORLD_SIZE', () => {
    const env = { ...SRUN, ...MASTER, WORLD_SIZE: '3' };
    expect(rendezvous(env)).toMatchObject({ rank: 2, size: 3, host: '10.0.0.1', port: 29_500 });
  });

  it("is torchrun's, where srun has started torchrun", () => {
    expect(rendezvous({ ...SRUN, ...TORCHRUN })).toEqual(rendezvous(TORCHRUN));
  });

  it.each<[string, Environment, RegExp]>([
    [
      'half of the variables',
      { RANK: '1', ...MASTER },
      /has RANK=1, MASTER_ADDR=10.0.0.1, .*, but not WORLD_SIZE:/,
    ],
    [
      'the other half',
      { WORLD_SIZE: '2', RANK: '0' },
      /has WORLD_SIZE=2, RANK=0, but not MASTER_ADDR, MASTER_PORT:/,
    ],
    ['no rank', { WORLD_SIZE: '2', ...MASTER }, /but not RANK:/],
    ['a rank beyond the size', { ...TORCHRUN, RANK: '4' }, /RANK=4, but WORLD_SIZE=4: ranks go from 0 to 3/],
    ['a rank beyond one process', { RANK: '1', WORLD_SIZE: '1', ...MASTER }, /RANK=1, but WORLD_SIZE=1/],
    ['a place beyond the machine', { ...TORCHRUN, LOCAL_RANK: '2' }, /LOCAL_RANK=2, LOCAL_WORLD_SIZE=2/],
    [
      'a machine beyond the size',
      { ...TORCHRUN, LOCAL_WORLD_SIZE: '8' },
      /LOCAL_WORLD_SIZE=8 and WORLD_SIZE=4/,
    ],
    [
      'any port, of another rank than 0',
      { ...TORCHRUN, MASTER_PORT: '0' },
      /MASTER_PORT must be a whole number >= 1/,
    ],
    ['a word', { ...TORCHRUN, WORLD_SIZE: 'two' }, /WORLD_SIZE must be a whole number >= 1, found 'two'/],
    [
      'another rank than that of srun',
      { ...SRUN, ...MASTER, RANK: '0', WORLD_SIZE: '3' },
      /has RANK=0, WORLD_SIZE=3, but this is task 2 of 3/,
    ],
    [
      'srun without its nodes',
      { ...SRUN, SLURM_STEP_NODELIST: undefined, SLURM_NODELIST: undefined },
      /SLURM_STEP_NODELIST is not set/,
    ],
    ['tasks that are no list', { ...SRUN, SLURM_STEP_TASKS_PER_NODE: 'some' }, /found 'some'/],
  ])('refuses %s', (_, env, message) => {
    expect(refusal(env)).toMatch(message);
  });
});

describe('the first node', () => {
  it.each([
    ['node1', 'node1'],
    ['node[01-03,07]', 'node01'],
    ['node[7,9-12],gpu[1-2]', 'node7'],
    ['a,b[1-2]', 'a'],
    ['rack[2-3]-gpu[05-06].example.com', 'rack2-gpu05.example.com'],
    ['gpu-2-[11-12]', 'gpu-2-11'],
  ])('of %s is %s', (list, first) => {
    expect(firstNode(list)).toBe(first);
  });
});
