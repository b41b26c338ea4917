import { expect, it } from 'vitest';
import { SignalWatch } from './signal.js';

const row = (frac_reward_zero_std: number) => ({
  step: 1,
  step_tokens: 1,
  reward: 0.1,
  frac_reward_zero_std,
  'completions/clipped_ratio': 0.75,
});

it('speaks once for each stretch of three steps without signal', () => {
  const watch = new SignalWatch();
  const said = [1, 1, 0.9, 1, 1, 1, 1, 1, 0, 1, 1, 1].map((share) => watch.after(row(share)));
  expect(said.flatMap((text, i) => (text === undefined ? [] : [i]))).toEqual([5, 11]);
  expect(said[5]).toContain('The mean reward is 0.100, and 75% of the completions are cut');
});
