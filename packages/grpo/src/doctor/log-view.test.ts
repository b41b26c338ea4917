import { describe, expect, it } from 'vitest';
import { beforeUpdates, klOfStepOne, LogView } from './log-view.js';

describe('the KL of step 1', () => {
  const view = (name: string, others: Record<string, number> = { epoch: 0.1 }) => {
    const entries = [{ step: 1, values: { kl: 0.2, ...others } }];
    return new LogView({ entries, producer: { name }, stepsPerEntry: 1 });
  };

  it('is known of a trainer that measures it before its update', () => {
    expect(klOfStepOne(view('TRL'))?.values.kl).toBe(0.2);
    expect(klOfStepOne(view('verl', {}))?.values.kl).toBe(0.2);
  });

  it.each(['unknown', 'transformers', 'CS336'])(
    'is not known of %s: a script may measure after it',
    (name) => {
      expect(klOfStepOne(view(name))).toBeUndefined();
    },
  );

  it('is not known where a script shares names with TRL, which logs the epoch as well', () => {
    expect(klOfStepOne(view('TRL', { reward_std: 0.3 }))).toBeUndefined();
  });

  it('is not known by the names of TRL where tokens of the step were clipped: the policy had moved', () => {
    const clipped = (share: number) => view('TRL', { epoch: 0.1, 'clip_ratio/region_mean': share });
    expect(klOfStepOne(clipped(0.02))).toBeUndefined();
    expect(klOfStepOne(clipped(0))?.values.kl).toBe(0.2);
  });
});

describe('entries before any update', () => {
  const before = (rates: readonly number[], first = 1, decimals?: Record<string, number>) => {
    const entries = rates.map((rate, i) => ({ step: first + i, values: { kl: 0.02, learning_rate: rate } }));
    const log = new LogView({
      entries,
      producer: { name: 'verl' },
      stepsPerEntry: 1,
      ...(decimals && { decimals }),
    });
    return beforeUpdates(log);
  };

  it('have a learning rate of 0 up to there', () => {
    expect(before([0, 0, 1e-6, 0])).toEqual([0, 1]);
  });

  it('are none of a log that begins later, or rounds the rate', () => {
    expect(before([0, 0], 83)).toEqual([]);
    expect(before([0, 0], 1, { learning_rate: 3 })).toEqual([]);
  });
});

describe('metrics that no check has asked for', () => {
  const values = { reward: 0.5, epoch: 1, gen_time: 3, magic: 1, kl: 0.1, 'rewards/a/mean': 1 };
  const view = (name: string) =>
    new LogView({ entries: [{ step: 1, values }], producer: { name }, stepsPerEntry: 1 });

  it('are those of a script, without times', () => {
    const log = view('unknown');
    expect(log.unread).toEqual(['magic', 'rewards/a/mean']);
    log.names(/^rewards/);
    expect(log.unread).toEqual(['magic']);
    log.column('magic');
    expect(log.unread).toEqual([]);
  });

  it('are not told of a trainer whose names are known', () => {
    expect(view('TRL').unread).toEqual([]);
  });
});
