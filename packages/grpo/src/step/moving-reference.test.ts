import { type DType, noGrad, type Tensor } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Decoder } from '../models/index.js';
import { recordStep } from '../observe/record-step.js';
import { MovingReference } from './moving-reference.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from './step.test.helper.js';

/** A trainer whose reference begins as the policy and moves. */
function trainerWith(settings: readonly string[], dtype: DType = 'float32') {
  const model = fixtureModel('llama3', dtype);
  const reference = model.decoder.clone();
  const trainer = trainerOf(
    model,
    ['kl.beta=0.1', `dtype=${dtype}`, ...settings],
    { score: spreadRewards },
    reference,
  );
  const movingReference = new MovingReference(reference, trainer);
  onTestFinished(() => {
    movingReference[Symbol.dispose]();
    reference.dispose();
  });
  return { ...trainer, reference, movingReference };
}

const valuesOf = (tensors: ReadonlyMap<string, Tensor>) =>
  noGrad(() => [...tensors.values()].flatMap((tensor) => tensor.to('float32').toNumbers()));
const weightsOf = ({ parameters }: Decoder) => valuesOf(parameters);

const furthest = (a: readonly number[], b: readonly number[]) =>
  a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);

describe('a reference that moves', () => {
  it('takes in its share of the policy after so many updates', async () => {
    const trainer = trainerWith([
      'kl.referenceEvery=3',
      'objective.iterations=2',
      'objective.oldLogprobs=recompute',
    ]);
    const { model, reference } = trainer;
    const start = weightsOf(reference);
    await recordStep(trainer, PROBLEMS, 0, 1e-3);
    expect(weightsOf(reference)).toEqual(start);
    // The third update is the first of the second step.
    const seen: number[][] = [];
    const { update } = trainer.stages;
    trainer.stages.update = (...args) => {
      const norms = update(...args);
      seen.push(weightsOf(model.decoder));
      return norms;
    };
    const { batch } = await recordStep(trainer, PROBLEMS, 1, 1e-3);
    const expected = start.map((weight, i) => 0.4 * weight + 0.6 * seen[0]![i]!);
    expect(furthest(weightsOf(reference), expected)).toBeLessThan(1e-6);
    expect(furthest(expected, start)).toBeGreaterThan(1e-4);
    // The step itself was compared with the reference that it began with.
    const next = await recordStep(trainer, PROBLEMS, 1, 0);
    expect(next.batch.reference_B![0]).not.toEqual(batch.reference_B![0]);
  });

  it('in bfloat16 moves by less than its weights can tell, and adds it up', () => {
    const trainer = trainerWith(['kl.referenceEvery=1', 'kl.referenceMix=0.001'], 'bfloat16');
    const { reference, movingReference, optimizer } = trainer;
    const masters = () => valuesOf(movingReference.masters);
    const policy = [...optimizer.state()].filter(([name]) => name.endsWith('.master'));
    noGrad(() => {
      for (const [, master] of policy) master.mul_(1.5);
    });
    const start = masters();
    for (let i = 1; i <= 100; i++) movingReference.updated();
    // After n updates (1 − α)ⁿ of the way is left.
    const part = 1 - 0.999 ** 100;
    const expected = start.map((weight) => weight * (1 + 0.5 * part));
    const moved = masters();
    expect(furthest(moved, expected)).toBeLessThan(1e-5);
    expect(furthest(moved, start)).toBeGreaterThan(0.01);
    const rounded = moved.map((weight) => weight * 2 ** -8);
    expect(
      weightsOf(reference).every((weight, i) => Math.abs(weight - moved[i]!) <= Math.abs(rounded[i]!)),
    ).toBe(true);
  });
});
