import { type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import type { Compat } from '../config/choices.js';
import { fixtures, type LossCase, lossInput, unpadded } from './golden.test.helper.js';
import { composedLoss } from './loss.js';

const caseOf = (name: string) => fixtures.cases.find((c) => c.name === name)!;

/** Loss and gradient of each token, under one compatibility or another; `padded` makes padding a part of the rows. */
function computed(c: LossCase, compat: Compat | undefined, tokens = c.num_items_in_batch) {
  return tidy(() => {
    const input = lossInput({ ...c, num_items_in_batch: tokens });
    const { loss } = composedLoss({ ...input, settings: { ...input.settings, compat } });
    loss.backward();
    return { loss: loss.item(), gradient: (input.logprobs_T.grad as Tensor).toNumbers() };
  });
}

describe('what TRL did up to 1.10, from numbers that it gave', () => {
  it('luspo averages over padding once its terms differ by token', () => {
    const c = caseOf('luspo: sequence ratio, small');
    const padded = {
      ...c,
      beta: 0.04,
      refLogps: caseOf('grpo: beta, small').refLogps,
      completionMask: c.mask.map((row) => row.map(() => 1)),
    };
    const theirs = computed(padded, 'trl-1.10');
    expect(theirs.loss).toBeCloseTo(4.6653001569, 9);
    expect(theirs.gradient.at(-1)).toBeCloseTo(-6.0364319, 6);
    // Ours sums over the sampled tokens, whatever stands in the padding.
    const ours = computed(padded, undefined);
    expect(ours.gradient.at(-1)).toBe(0);
    expect(ours.loss).toBeCloseTo(
      computed({ ...padded, completionMask: c.completionMask }, undefined).loss,
      12,
    );
  });

  it('luspo by sequence without a KL is as ours', () => {
    const c = caseOf('luspo: sequence ratio, small');
    expect(computed(c, 'trl-1.10').loss).toBeCloseTo(computed(c, undefined).loss, 12);
  });

  it('a token mean over the whole rollout halves the gradient of one of its two updates', () => {
    const c = caseOf('dapo: old log-probs stored, small');
    expect(computed(c, 'trl-1.10', 14).loss).toBeCloseTo(-0.1566769455, 9);
    expect(computed(c, undefined).loss).toBeCloseTo(-0.313353891, 9);
  });
});

describe('what TRL does', () => {
  it('its entropy bonus is a mean over the micro-batch, ours over the update', () => {
    const c = caseOf('dapo: entropy bonus, one of four micro-batches, small');
    const tokens = unpadded(c.mask, c).reduce((a, b) => a + b, 0);
    const theirs = computed(c, 'trl').loss;
    expect(theirs).toBeCloseTo(c.expectedLoss, 10);
    // One of four micro-batches in completions, and another share of the update's tokens.
    expect(tokens / c.num_items_in_batch).not.toBe(1 / 4);
    expect(Math.abs(computed(c, undefined).loss - theirs)).toBeGreaterThan(1e-4);
  });
});
