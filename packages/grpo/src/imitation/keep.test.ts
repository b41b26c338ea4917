import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { Batch } from '../step/batch.js';
import type { Task } from '../tasks/task.js';
import { keepGood } from './keep.js';

/** Two problems with four completions each; of the second problem's first completion the reward failed. */
const TEXTS = ['a', 'yes', 'yes', 'yes b', 'yes', 'no', 'c', 'yes d'];
const REWARDS = [0, 1, 1, 2, Number.NaN, 0.5, 1.5, 1];

const batch = new Batch({
  problems: [
    { prompt: '1', row: 'yes' },
    { prompt: '2', row: 'yes' },
  ],
  prompts: [],
  completions_B: TEXTS.map((text) => {
    return {
      ids: [],
      text,
      finishReason: 'stop',
      logprobs: new Float32Array(),
      sampledLogprobs: new Float32Array(),
    };
  }),
  rewardTable: {
    names: ['stub'],
    weights: [1],
    columns: [Float64Array.from(REWARDS)],
    unscored: Uint8Array.from(REWARDS, (reward) => Number(Number.isNaN(reward))),
    failures: [],
  },
});

const task: Task = {
  name: 'stub',
  train: [],
  eval: [],
  rewards: [],
  isCorrect: (text, row) => text.startsWith(String(row)),
  stop: [],
};

function kept(...settings: string[]): number[] {
  const { config } = resolveConfig({ command: 'expert', settings: ['task.name=arithmetic', ...settings] });
  return keepGood(batch, task, config.expert);
}

describe('what expert iteration keeps', () => {
  it('is what is right, the best first', () => {
    expect(kept()).toEqual([3, 1, 2, 7]);
  });

  it('is with a threshold what has that reward, right or wrong', () => {
    expect(kept('expert.threshold=1')).toEqual([3, 1, 2, 6, 7]);
    expect(kept('expert.threshold=1.01')).toEqual([3, 6]);
    expect(kept('expert.threshold=9')).toEqual([]);
  });

  it('is one of several equal completions if wanted', () => {
    expect(kept('expert.unique=true')).toEqual([3, 1, 7]);
  });

  it('is no more of a problem than wanted, after equal ones are gone', () => {
    expect(kept('expert.perProblem=1')).toEqual([3, 7]);
    expect(kept('expert.perProblem=2', 'expert.threshold=0.5')).toEqual([3, 1, 6, 7]);
    expect(kept('expert.perProblem=3', 'expert.threshold=0', 'expert.unique=true')).toEqual([
      3, 1, 0, 6, 7, 5,
    ]);
  });
});
