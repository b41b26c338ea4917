import { describe, expect, it } from 'vitest';
import { type LabRun, labRun } from '../../lab/lab-run.js';
import { stages } from '../../step/stages.js';
import type { Comparison } from '../../trace/index.js';
import { isDoubtful, settles } from './second-look.js';

const one = (quantity: string, deviation: number, bound = 1): Comparison => {
  return { handOver: 'gradient', quantity, compared: 1, found: deviation, plain: 0, deviation, bound };
};
const measured = (...comparisons: Comparison[]) => [{ comparisons }];

describe('a second look', () => {
  it('is due in half precision where numbers are beyond bounds of rounding, and where nothing else is', () => {
    expect(isDoubtful(measured(one('norm', 2), one('log-prob', 0.5)), 'bfloat16')).toBe(true);
    expect(isDoubtful(measured(one('norm', Number.NaN)), 'bfloat16')).toBe(true);
    expect(isDoubtful(measured(one('norm', 2)), 'float32')).toBe(false);
    expect(isDoubtful(measured(one('norm', 1)), 'bfloat16')).toBe(false);
    expect(isDoubtful(measured(one('norm', 2), one('ids', 1, 0)), 'bfloat16')).toBe(false);
  });

  it('settles what it has compared again, where all holds', () => {
    const first = measured(one('norm of problem 3', 2));
    expect(settles(first, measured(one('norm of problem 7', 0.5)))).toBe(true);
    expect(settles(first, measured(one('norm of problem 7', 1.5)))).toBe(false);
    expect(settles(first, measured(one('norm of problem 7', 0), one('other', 2)))).toBe(false);
    expect(settles(first, measured(one('other', 0)))).toBe(false);
    const unsure = { handOver: 'gradient', missing: 'a slope' } as const;
    expect(settles(first, [...measured(one('log-prob', 0.5)), unsure])).toBe(true);
    // Nothing was compared: other completions are too long, for instance.
    expect(settles(first, [unsure])).toBe(false);
    expect(settles(first, [...measured(one('log-prob', 0.5)), { ...unsure, handOver: 'loss' }])).toBe(false);
  });
});

/** Log-probs of the sampler that disagree, of a step whose sampler tells another one of some completions. */
async function disagrees(dtype: 'float32' | 'bfloat16', isWrong: (b: number) => boolean) {
  const sample: typeof stages.sample = async (...given) => {
    const groups = await stages.sample(...given);
    let b = 0;
    for (const completion of groups.flat()) if (isWrong(b++)) completion.logprobs[0]! -= 3;
    return groups;
  };
  const run: LabRun = { policy: { dtype }, settings: [`dtype=${dtype}`], steps: 1 };
  const { records } = await labRun({
    ...run,
    plant: (trainer) => ({ stages: { ...trainer.stages, sample } }),
  });
  const { comparisons, completions } = records[0]!.audit!;
  const apart = comparisons.filter(({ deviation, bound }) => !(deviation <= bound));
  return { apart: apart.some(({ quantity }) => quantity === 'log-prob of the sampler'), completions };
}

describe('the audit', () => {
  it('asks other completions in half precision only, and believes what they say', async () => {
    for (const [dtype, isBelieved] of [
      ['bfloat16', false],
      ['float32', true],
    ] as const) {
      const { completions } = await disagrees(dtype, () => false);
      expect((await disagrees(dtype, (b) => b === completions[0])).apart).toBe(isBelieved);
      expect((await disagrees(dtype, () => true)).apart).toBe(true);
    }
  });
});
