import { describe, expect, it } from 'vitest';
import { klOfStepOne, LogView } from './log-view.js';

describe('the KL of step 1', () => {
  const view = (name: string) =>
    new LogView({ entries: [{ step: 1, values: { kl: 0.2 } }], producer: { name }, stepsPerEntry: 1 });

  it('is known of a trainer that measures it before its update', () => {
    expect(klOfStepOne(view('TRL'))?.values.kl).toBe(0.2);
  });

  it('is not known of a script of one’s own, which may measure after it', () => {
    expect(klOfStepOne(view('unknown'))).toBeUndefined();
    expect(klOfStepOne(view('transformers'))).toBeUndefined();
  });
});
