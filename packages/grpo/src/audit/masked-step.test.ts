import { expect, it } from 'vitest';
import { ESTIMATORS } from '../config/choices.js';
import { grpoStep } from '../step/grpo-step.js';
import { type Stages, stages as standard } from '../step/stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import { Audit } from './audit.js';

/** Quantities that do not hold in a step of a masked-diffusion model of two iterations, and what could not be compared. */
async function audited(settings: readonly string[], stages: Partial<Stages> = {}) {
  const model = fixtureModel('a2d-qwen2');
  const reference = model.decoder.clone();
  const shared = [
    'rollout.prompts=4',
    'optimizer.learningRate=1e-3',
    'objective.iterations=2',
    'objective.oldLogprobs=recompute',
    'kl.beta=0.1',
  ];
  const score = spreadRewards;
  const trainer = trainerOf(model, [...shared, ...settings], { score, ...stages }, reference);
  const audit = new Audit(trainer);
  await grpoStep({ ...trainer, observers: audit.observers }, PROBLEMS, 0, 1e-3);
  reference.dispose();
  const { comparisons, missing } = audit.record;
  const apart = comparisons.filter(({ deviation, bound }) => !(deviation <= bound));
  return { apart: apart.map(({ quantity }) => quantity), missing };
}

const CLEAN = ESTIMATORS.flatMap((estimator) => [
  `diffusion.estimator=${estimator}`,
  `diffusion.estimator=${estimator} objective.minibatches=2 diffusion.steps=4`,
]);

it.each(CLEAN)('a clean step holds in every hand-over and both iterations: %s', async (settings) => {
  const { apart, missing } = await audited(settings.split(' '));
  expect(apart).toEqual([]);
  // The reward of these steps is a stub.
  expect(missing.filter(({ handOver }) => handOver !== 'reward')).toEqual([]);
});

it('a loss that is taken over tokens that no pass hides does not', async () => {
  const { apart } = await audited(['diffusion.estimator=sum_masked'], {
    objective: (input) => standard.objective({ ...input, mask: input.mask!.map(() => 1) }),
  });
  expect(apart).toContain('weight of a token in the loss');
});

it.each([
  ['d1', true],
  // Tokens of log-probs −0.01 and −0.5 in two passes may have this sum of them and this mean of entropies.
  ['coupled', false],
])('the entropies of %s are held to the log-probs: %s', async (estimator, isHeld) => {
  const { apart } = await audited([`diffusion.estimator=${estimator}`], {
    logprob: (...input) => {
      const { logprobs_T, entropies_T } = standard.logprob(...input);
      return { logprobs_T: logprobs_T.mul(0).sub(0.3175), entropies_T: entropies_T.mul(0).add(0.36) };
    },
  });
  expect(apart.includes("entropy beside the token's log-prob")).toBe(isHeld);
});
