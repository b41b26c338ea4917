import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { shareOfMachine } from './share.js';
import type { Environment } from './variables.js';

const TWO = {
  ...{ MASTER_ADDR: 'a', MASTER_PORT: '1', RANK: '3', LOCAL_RANK: '1' },
  ...{ WORLD_SIZE: '4', LOCAL_WORLD_SIZE: '2' },
};
const TORCHRUN = { ...TWO, TORCHELASTIC_RUN_ID: 'none', OMP_NUM_THREADS: '1' };

const resolved = (...settings: string[]) =>
  resolveConfig({ command: 'train', settings: ['task.name=arithmetic', 'memory=8GB', ...settings], env: {} });

describe('the share of a process', () => {
  it('is the machine, where it is alone on it', () => {
    for (const env of [{}, { ...TWO, LOCAL_RANK: '0', LOCAL_WORLD_SIZE: '1' }]) {
      const all = resolved();
      expect(shareOfMachine(all, env, 16)).toEqual({ shared: all });
    }
  });

  it('is a part of threads and memory, said where both come from', () => {
    const { shared, note } = shareOfMachine(resolved(), TWO, 7);
    expect(shared.config).toMatchObject({ threads: 3, memory: 4e9 });
    expect(shared.provenance.memory).toBe('command line, 8.0 GB shared by 2 processes');
    expect(note).toBeUndefined();
  });

  it.each<[string, string[], Environment, number | undefined, number?]>([
    ['those of the configuration', ['threads=5'], TORCHRUN, 5],
    ['at least one', [], TWO, 1, 1],
    ["those of Slurm's task", [], { ...TWO, SLURM_CPUS_PER_TASK: '6' }, 6],
    ["the user's own OMP_NUM_THREADS", [], { ...TWO, OMP_NUM_THREADS: '1' }, undefined],
    ["the user's own OMP_NUM_THREADS with torchrun", [], { ...TORCHRUN, OMP_NUM_THREADS: '4' }, undefined],
  ])('has threads: %s', (_, settings, env, threads, cores = 16) => {
    expect(shareOfMachine(resolved(...settings), env, cores).shared.config.threads).toBe(threads);
  });

  it('does not take the one thread that torchrun sets by itself, and says so', () => {
    const { shared, note } = shareOfMachine(resolved(), TORCHRUN, 16);
    expect(shared.config.threads).toBe(8);
    expect(note).toMatch(
      /^Threads: 8 per process, since 2 processes share 16 cores\..*threads=1 keeps it\.$/,
    );
    expect(shareOfMachine(resolved(), TORCHRUN, 2).note).toBeUndefined();
  });
});
