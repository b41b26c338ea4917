import { type DType, Tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import {
  ASSIGNMENT,
  fixture,
  isClose,
  numbersOf,
  STRICT,
  type StoredCase,
  toTensor,
} from './fixture.test.helper.js';
import * as cs336 from './index.js';

const titleOf = ({ call, settings, steps }: StoredCase) =>
  [call, ...Object.values(settings), ...(steps && steps > 1 ? [`${steps} steps`] : [])].join(' ');

const functions = new Map<string, unknown>(Object.entries(cs336));

/** Calls what a case names. */
function run({ call, inputs, settings, steps }: StoredCase, dtype: DType): Record<string, number[]> {
  const given = Object.fromEntries(
    Object.entries(inputs).map(([option, input]) => [option, toTensor(fixture.inputs[input]!, dtype)]),
  );
  if (steps) given.policyLogProbs!.requiresGrad = true;
  const body = functions.get(call) as (options: object) => Tensor | cs336.LossWithMetadata;
  const results = Array.from({ length: steps ?? 1 }, () => body({ ...given, ...settings }));
  const result = results.at(-1)!;
  if (result instanceof Tensor) {
    const value = result.toNumbers();
    return { value, loss: value };
  }
  const losses = results.map((each) => (each as cs336.LossWithMetadata).loss.toNumbers());
  expect(losses.every((loss) => `${loss}` === `${losses[0]}`)).toBe(true);
  return {
    loss: losses[0]!,
    ...(steps && { grad: given.policyLogProbs!.grad!.toNumbers() }),
    ...(result.metadata?.clipped && { clipped: result.metadata.clipped.toNumbers() }),
  };
}

/** Values that are not all zero: what a function that returns zeros would have to match. */
const expectations = fixture.cases.flatMap((row) =>
  Object.entries(row.expected).map(([name, stored]) => ({
    title: `${titleOf(row)}: ${name}`,
    theirs: numbersOf(stored),
    isFlag: 'bits' in stored,
  })),
);

describe.each(fixture.cases.map((row) => ({ title: titleOf(row), row })))('$title', ({ row }) => {
  it('gives what plain PyTorch gives', () => {
    const wide = run(row, 'float64');
    const narrow = run(row, 'float32');
    for (const [name, stored] of Object.entries(row.expected)) {
      const theirs = numbersOf(stored);
      expect(isClose(wide[name]!, theirs, { relative: 1e-10, absolute: 1e-10 }), name).toBe(true);
      expect(isClose(narrow[name]!, theirs, STRICT), `${name} in float32`).toBe(true);
    }
  });
});

describe('the tolerance', () => {
  const withZeros = (tolerance: typeof STRICT) =>
    expectations
      .filter(({ theirs }) => isClose(new Array(theirs.length).fill(0), theirs, tolerance))
      .map(({ title }) => title);

  it('fails an output of zeros everywhere but for the flags of a clip that never clips', () => {
    expect(expectations).toHaveLength(31);
    expect(withZeros(STRICT)).toEqual(['computeGrpoClipLoss 10: clipped']);
  });

  it("of the assignment would pass zeros for the micro-batch steps' losses and gradients", () => {
    expect(withZeros(ASSIGNMENT)).toEqual([
      'computeGrpoClipLoss 10: clipped',
      'grpoMicrobatchTrainStep reinforce_with_baseline 0.1 2: loss',
      'grpoMicrobatchTrainStep reinforce_with_baseline 0.1 2: grad',
      'grpoMicrobatchTrainStep grpo_clip 0.1 2: loss',
      'grpoMicrobatchTrainStep grpo_clip 0.1 2: grad',
      'grpoMicrobatchTrainStep grpo_clip 0.1 2 10 steps: loss',
      'sftMicrobatchTrainStep 2 42: grad',
    ]);
  });
});

describe("the assignment's snapshots", () => {
  const given = (name: string) => toTensor(fixture.inputs[name]!, 'float32');
  const leaf = () => {
    const policyLogProbs = given('policyLogProbs');
    policyLogProbs.requiresGrad = true;
    return policyLogProbs;
  };
  const masked = () => ({ tensor: given('logits'), mask: given('mask') });

  it('hold our float32 numbers', () => {
    expect(cs336.maskedMean(masked()).item()).toBeCloseTo(-0.407019, 6);
    const columns = cs336.maskedMean({ ...masked(), dim: 0 }).toNumbers();
    expect(columns.filter(Number.isNaN)).toHaveLength(260);
    expect(cs336.maskedNormalize({ ...masked(), normalizeConstant: 42 }).item()).toBeCloseTo(-9.632784, 5);

    const responseMask = given('responseMask');
    const policyLogProbs = leaf();
    const { loss } = cs336.grpoMicrobatchTrainStep({
      policyLogProbs,
      responseMask,
      gradientAccumulationSteps: 2,
      lossType: 'grpo_clip',
      rawRewards: given('rawRewards'),
      advantages: given('advantages'),
      oldLogProbs: given('oldLogProbs'),
      cliprange: 0.1,
    });
    expect(loss.item()).toBeCloseTo(0.00440072, 8);
    expect(Math.max(...policyLogProbs.grad!.toNumbers().map(Math.abs))).toBeCloseTo(0.0056, 4);

    const sft = { responseMask, gradientAccumulationSteps: 2 };
    const ownLeaf = leaf();
    expect(cs336.sftMicrobatchTrainStep({ ...sft, policyLogProbs: ownLeaf }).loss.item()).toBeCloseTo(
      -0.60078377,
      7,
    );
    expect(new Set(ownLeaf.grad!.toNumbers())).toEqual(new Set([-0.25, 0]));
    const short = cs336.sftMicrobatchTrainStep({ ...sft, policyLogProbs: leaf(), normalizeConstant: 42 });
    expect(short.loss.item()).toBeCloseTo(-0.0143043, 6);
  });
});
