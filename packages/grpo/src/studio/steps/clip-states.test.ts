import { expect, it } from 'vitest';
import { clipStates } from './clip-states.js';

const ratios = [0.5, 0.9, 1, 1.25, 4];

it.each([
  ['clip', 1, {}, [-1, 0, 0, 2, 2]],
  ['clip', -1, {}, [2, 0, 0, 1, 1]],
  ['clip', 0, {}, [-1, 0, 0, 1, 1]],
  // The second bound of a negative advantage.
  ['clip', -1, { delta: 3 }, [2, 0, 0, 1, 2]],
  // A wider upper bound, as DAPO has it.
  ['clip', 1, { clipHigh: 0.28 }, [-1, 0, 0, 0, 2]],
  ['gmpo', 1, { clipLow: 0.4, clipHigh: 0.4 }, [-1, 0, 0, 0, 2]],
  ['gmpo', -1, { clipLow: 0.4, clipHigh: 0.4 }, [2, 0, 0, 0, 1]],
  ['cispo', 1, { cap: 2 }, [0, 0, 0, 0, 1]],
] as const)('%s, advantage %d, %j', (policy, advantage, settings, states) => {
  const objective = { policy, ratio: 'token', aggregation: 'token_mean', clipLow: 0.2, ...settings } as const;
  expect([...clipStates({ objective }, ratios, advantage)!]).toEqual(states);
});

it('a policy term without a range has none', () => {
  const objective = { policy: 'sapo', ratio: 'token', aggregation: 'token_mean' } as const;
  expect(clipStates({ objective }, ratios, 1)).toBeUndefined();
});
