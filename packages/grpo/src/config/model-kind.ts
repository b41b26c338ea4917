/** Settings that do not go with the kind of model: known once its folder is read. */
import { keys } from './keys.js';
import { isGiven, type ResolvedConfig, requireRules } from './resolve.js';
import { PENALTIES } from './rules/inert.js';
import type { Rule } from './rules/rule.js';

/** Settings that mean something only where tokens are drawn one after another. */
const forDiffusion: readonly Rule[] = [
  {
    keys: ['objective.oldLogprobs'],
    check: ({ objective: { oldLogprobs } }) =>
      oldLogprobs === 'sampler'
        ? 'a masked-diffusion model samples each token beside others that it has filled already, and estimates its log-prob with all of them hidden: the ratio would not be 1 where nothing has changed. Use objective.oldLogprobs=recompute.'
        : undefined,
  },
  {
    keys: ['correction.level'],
    check: ({ correction: { level } }) =>
      level === 'off'
        ? undefined
        : 'the log-probs that a masked-diffusion model samples with are of other inputs than the estimates, so their ratio says nothing of the sampler. Use correction.level=off.',
  },
  {
    keys: ['kl.estimator'],
    check: ({ kl: { beta, estimator } }) =>
      beta > 0 && estimator === 'full'
        ? 'the log-probs of a masked-diffusion model are estimates from several passes, which have no one distribution over the vocabulary. Use kl.estimator=k3.'
        : undefined,
  },
  {
    keys: ['kl.place'],
    check: ({ kl: { beta, place } }) =>
      beta > 0 && place === 'reward'
        ? 'the KL in the reward is that of the log-probs that were sampled with, which a masked-diffusion model does not train on. Use kl.place=loss.'
        : undefined,
  },
  {
    keys: ['groups.replay'],
    check: ({ groups: { replay } }) =>
      replay > 0
        ? 'the old log-probs of a stored group are estimates with the masks of its step, and this step has others. Use groups.replay=0.'
        : undefined,
  },
  ...PENALTIES.map(
    (name): Rule => ({
      keys: [`rollout.${name}`],
      check: ({ rollout }) => {
        const off = name === 'repetitionPenalty' ? 1 : 0;
        return rollout[name] === off
          ? undefined
          : `a masked-diffusion model fills its places in any order, and a penalty is one of tokens that came before. Use rollout.${name}=${off}.`;
      },
    }),
  ),
  {
    keys: ['rollout.keepSupport'],
    check: ({ rollout: { keepSupport } }, { given }) =>
      keepSupport && given('rollout.keepSupport')
        ? 'the log-probs of a masked-diffusion model are estimates, which no support of a draw belongs to, so it has no effect. Take it out.'
        : undefined,
  },
  {
    keys: ['rollout.invariant'],
    check: ({ rollout: { invariant } }) =>
      invariant
        ? 'a masked-diffusion model computes whole completions, without the products that this is about. Take it out.'
        : undefined,
  },
  {
    keys: ['rollout.engine'],
    check: ({ rollout: { engine } }) =>
      engine === 'own' ? undefined : 'the servers write from left to right. Use rollout.engine=own.',
  },
];

/** Settings of a masked-diffusion model, from wherever they come. */
const forCausal: readonly Rule[] = keys
  .filter(({ section }) => section === 'diffusion')
  .map(({ path }) => ({
    keys: [path],
    check: (_, { given }) =>
      given(path)
        ? 'the model writes from left to right, so it has no effect. Give a masked-diffusion model (LLaDA, Dream, A2D), or take it out.'
        : undefined,
  }));

/**
 * Holds the settings to the kind of model that they are for.
 *
 * @throws UsageError that lists every setting that does not go with it
 */
export function requireModelKind(resolved: ResolvedConfig, isDiffusion: boolean): void {
  const given = (path: string) => isGiven(resolved, path);
  requireRules(isDiffusion ? forDiffusion : forCausal, resolved, given);
}
