import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { batch, task } from './graded-batch.test.helper.js';
import { keepGood } from './keep.js';

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
