import { AdamW, noGrad, tidy } from '@grpo/torch';
import { expect, it, onTestFinished } from 'vitest';
import { fixtureModel, flatWhere, PROBLEMS, trainerOf } from '../step/step.test.helper.js';
import { recordStep } from './record-step.js';

/** Loses what the passes of these turns, from 0, add to the gradients. */
class Losing extends AdamW {
  turn = 0;
  lost: readonly number[] = [];

  override accumulate(pass: () => void): void {
    if (!this.lost.includes(this.turn++)) super.accumulate(pass);
  }
}

/**
 * The micro-batches of a step of four groups of which the flat ones have equal rewards.
 *
 * @param away - the head of the reference is so many times that of the policy
 */
async function microBatchesOf(
  settings: readonly string[],
  lost: readonly number[],
  { isFlat = (p: number): boolean => p === 1, away = 1.5 } = {},
) {
  const model = fixtureModel('llama3');
  const reference = fixtureModel('llama3').decoder;
  noGrad(() => tidy(() => reference.parameters.get('lm_head.weight')!.mul_(away)));
  const given = trainerOf(
    model,
    ['train.microBatchTokens=20', ...settings],
    { score: flatWhere(isFlat) },
    reference,
  );
  const optimizer = new Losing(model.decoder.trainable, given.config.optimizer);
  onTestFinished(() => optimizer.dispose());
  optimizer.lost = lost;
  const { updates } = await recordStep({ ...given, optimizer }, PROBLEMS, 0, 1e-3);
  return { passes: optimizer.turn, ...updates[0]!.microBatches! };
}

it('counts a micro-batch without a gradient of its own as executed', async () => {
  const { passes, executed, configured } = await microBatchesOf([], []);
  expect(configured).toBe(passes);
  expect(configured).toBeGreaterThan(3);
  expect(executed).toBe(configured);
});

it('does not count a micro-batch whose gradient is lost, the first and the last included', async () => {
  const { passes } = await microBatchesOf([], []);
  for (const lost of [0, passes - 1]) {
    const { executed, configured } = await microBatchesOf([], [lost]);
    expect({ executed, configured }).toEqual({ executed: passes - 1, configured: passes });
  }
});

const MANY = Array.from({ length: 99 }, (_, turn) => turn);

const FULL_KL = ['kl.beta=0.1', 'kl.estimator=full'];

it.each([
  { settings: [], has: 'no gradient' },
  { settings: ['kl.beta=0.1'], has: 'a gradient' },
  { settings: FULL_KL, has: 'a gradient' },
  // A reference with the policy's weights: the KL is 0, which is the least it can be.
  { settings: FULL_KL, away: 1, has: 'no gradient' },
  { settings: ['entropy.coefficient=0.1'], has: 'a gradient' },
  // Nothing but the likeliest token can be drawn, whose probability and entropy do not move.
  { settings: ['entropy.coefficient=0.1', 'rollout.topK=1'], has: 'no gradient' },
])(
  'a step of equal rewards with $settings, away $away, has $has to lose',
  async ({ settings, away, has }) => {
    const { executed, passes } = await microBatchesOf(settings, MANY, { isFlat: () => true, away });
    expect(executed).toBe(has === 'a gradient' ? 0 : passes);
  },
);
