/** Settings that have no effect beside others: given by hand they are refused, and `explain` leaves them out. */
import { keys } from '../keys.js';
import type { Config } from '../schema.js';
import { usesLora } from '../sections/lora.js';

interface Inert {
  keys: readonly string[];
  /** Keys that take the effect away. */
  beside: readonly string[];
  /** Why it has no effect, and the settings that would give it one; undefined when it has. */
  because(config: Config, key: string): string | undefined;
}

const of = (section: keyof Config, names: readonly string[]) => names.map((name) => `${section}.${name}`);

type Policy = Config['objective']['policy'];

/** Settings of one choice, such as the cap of cispo, as declared in their sections. */
const ofChoices: readonly Inert[] = keys.flatMap(({ path, schema: { appliesTo } }) =>
  appliesTo === undefined
    ? []
    : {
        keys: [path],
        beside: [appliesTo.key],
        because(config) {
          const [section, name] = appliesTo.key.split('.') as [keyof Config, string];
          const chosen = (config[section] as Record<string, unknown>)[name] as string;
          const { values } = appliesTo;
          return values.includes(chosen)
            ? undefined
            : `${name}=${chosen} ${appliesTo.else}. It is for ${values.join(' and ')}`;
        },
      },
);

/** Policy terms that compare with the old policy by one ratio that can be chosen. */
const COMPARED: readonly Policy[] = ['clip', 'cispo', 'sapo'];

const isCorrectingKl = ({ kl }: Config) => kl.beta > 0 && kl.biasCorrected;

/** Whether a standard deviation divides. */
const divides = ({ advantage: { scale, combine } }: Config) =>
  !['none', 'mean'].includes(scale) || combine === 'normalize_then_sum';

const withoutDeviation = ({ advantage: { scale } }: Config) => `scale=${scale} divides by no deviation`;

/** Settings under which tokens are drawn with another probability once they were drawn before. */
export const PENALTIES = ['repetitionPenalty', 'presencePenalty', 'frequencyPenalty'] as const;

/** Whether tokens are drawn from a part of the vocabulary only. */
export const truncates = ({ topP, topK, minP }: Pick<Config['rollout'], 'topP' | 'topK' | 'minP'>): boolean =>
  topP < 1 || topK > 0 || minP > 0;

/** Settings of a KL. */
const KL_KEYS = [
  ...['estimator', 'level', 'place', 'biasCorrected', 'clip', 'warmupSteps', 'control'],
  'referenceEvery',
];

export const inert: readonly Inert[] = [
  ...ofChoices,
  {
    keys: ['objective.ratio'],
    beside: ['objective.policy'],
    because: (config) =>
      COMPARED.includes(config.objective.policy) || isCorrectingKl(config)
        ? undefined
        : `policy=${config.objective.policy} takes no ratio, or one of its own. It is for ${COMPARED.join(', ')}`,
  },
  {
    keys: ['objective.oldLogprobs'],
    beside: ['objective.policy'],
    because: (config) =>
      usesOldPolicy(config)
        ? undefined
        : `policy=${config.objective.policy} does not compare with the old policy`,
  },
  {
    keys: ['objective.normalizer'],
    beside: ['objective.aggregation'],
    because: ({ objective: { aggregation } }) =>
      aggregation === 'constant'
        ? undefined
        : `aggregation=${aggregation} divides by no constant. It is for constant`,
  },
  {
    keys: ['advantage.scale'],
    beside: ['advantage.combine'],
    because: ({ advantage: { combine } }) =>
      combine === 'normalize_then_sum'
        ? `combine=${combine} always divides by the deviation of the group`
        : undefined,
  },
  {
    keys: of('advantage', ['epsilon', 'floor']),
    beside: ['advantage.scale'],
    because: (config) => (divides(config) ? undefined : withoutDeviation(config)),
  },
  {
    keys: ['advantage.ddof'],
    beside: ['advantage.scale', 'advantage.flatBelow'],
    because: (config) =>
      divides(config) || config.advantage.flatBelow > 0 ? undefined : withoutDeviation(config),
  },
  {
    keys: of('advantage', ['baseline', 'ddof', 'floor']),
    beside: ['objective.compat'],
    because: ({ objective: { compat } }) =>
      compat === undefined
        ? undefined
        : `compat=${compat} takes the advantages by TRL's own sums, which do not know it`,
  },
  {
    keys: ['advantage.flatBelow', 'advantage.flat'],
    beside: ['advantage.baseline', 'advantage.flat'],
    because: ({ advantage: { baseline, flat } }) =>
      baseline === 'none' && flat !== 'drop' ? 'without a baseline no group counts as flat' : undefined,
  },
  {
    keys: of('kl', KL_KEYS),
    beside: ['kl.beta'],
    because: ({ kl: { beta } }) => (beta === 0 ? 'with kl.beta=0 there is no KL' : undefined),
  },
  {
    keys: ['kl.warmup'],
    beside: ['kl.warmupSteps'],
    because: ({ kl: { warmupSteps } }) => (warmupSteps === 0 ? 'there is no warm-up' : undefined),
  },
  {
    keys: of('kl', ['target', 'least', 'most', 'window']),
    beside: ['kl.control'],
    because: ({ kl: { control } }) =>
      control === 'fixed' ? 'control=fixed leaves the weight alone' : undefined,
  },
  {
    keys: ['kl.referenceMix'],
    beside: ['kl.referenceEvery'],
    because: ({ kl: { referenceEvery } }) =>
      referenceEvery === 0 ? 'the reference stays what it is. Give kl.referenceEvery too' : undefined,
  },
  {
    keys: ['kl.biasCorrected'],
    beside: ['kl.place'],
    because: ({ kl: { place } }) =>
      place === 'reward'
        ? 'the KL in the reward is that of the policy that sampled: the ratio is 1'
        : undefined,
  },
  {
    keys: of('entropy', ['target', 'delta', 'least', 'most']),
    beside: ['entropy.adaptive'],
    because: ({ entropy: { adaptive } }) =>
      adaptive ? undefined : 'the weight of the bonus stays. Give entropy.adaptive=true too',
  },
  {
    keys: of('rollout', ['urls', 'apiKeyEnv', 'timeoutSeconds', 'weightsFolder']),
    beside: ['rollout.engine'],
    because: ({ rollout: { engine }, teacher }, key) =>
      engine === 'own' && !(key === 'rollout.timeoutSeconds' && teacher.engine !== 'own')
        ? 'engine=own samples in this process. It is for vllm and sglang'
        : undefined,
  },
  {
    keys: of('teacher', ['url', 'apiKeyEnv']),
    beside: ['teacher.engine'],
    because: ({ teacher: { engine } }) =>
      engine === 'own' ? 'engine=own loads teacher.model. It is for vllm and sglang' : undefined,
  },
  {
    keys: ['rollout.keepSupport'],
    beside: ['rollout.topP', 'rollout.topK', 'rollout.minP'],
    because: ({ rollout }) =>
      truncates(rollout)
        ? undefined
        : 'every token can be drawn. Give rollout.topP, rollout.topK or rollout.minP too',
  },
  {
    keys: of('lora', ['alpha', 'targets']),
    beside: ['lora.rank'],
    because: ({ lora: { rank, adapter } }) =>
      rank === 0 && adapter === undefined
        ? 'with lora.rank=0 there are no adapters, all weights are trained'
        : undefined,
  },
  {
    keys: of('lora', ['rank', 'alpha', 'targets']),
    beside: ['lora.adapter'],
    because: ({ lora: { adapter } }) =>
      adapter === undefined ? undefined : 'the adapter in lora.adapter has its own',
  },
  {
    keys: ['lora.dropout'],
    beside: ['lora.rank', 'lora.adapter'],
    because: (config) => (usesLora(config) ? undefined : 'there are no adapters. Give lora.rank too'),
  },
  {
    keys: ['optimizer.minLearningRate'],
    beside: ['optimizer.schedule'],
    because: ({ optimizer: { schedule } }) =>
      schedule === 'constant' ? 'schedule=constant does not fall' : undefined,
  },
  {
    keys: ['train.kindGradients'],
    beside: ['kl.kindKey'],
    because: ({ kl: { kindKey } }) =>
      kindKey === undefined ? 'the problems are of one kind. Give kl.kindKey too' : undefined,
  },
  {
    keys: ['kl.clip'],
    beside: ['kl.estimator'],
    because: ({ kl: { estimator } }) =>
      estimator === 'full' ? 'the full KL is no estimate from a difference of log-probs' : undefined,
  },
  {
    keys: ['correction.level'],
    beside: ['objective.oldLogprobs'],
    because: ({ objective: { oldLogprobs } }) =>
      oldLogprobs === 'sampler' ? "the old log-probs are the sampler's own, so every weight is 1" : undefined,
  },
  {
    keys: of('correction', ['measure', 'action', 'min', 'max']),
    beside: ['correction.level'],
    because: ({ correction: { level } }) =>
      level === 'off' ? 'nothing is corrected. Give correction.level too' : undefined,
  },
  {
    keys: ['eval.stopAt'],
    beside: ['eval.every'],
    because: ({ eval: { every } }) =>
      every === 0 ? 'the model is evaluated before and after the run only. Give eval.every too' : undefined,
  },
  {
    keys: of('eval', ['temperature', 'k']),
    beside: ['eval.samples'],
    because: ({ eval: { samples } }) => (samples === 0 ? 'evaluation draws no samples' : undefined),
  },
];

/** Whether anything is compared with the policy that sampled. */
export function usesOldPolicy(config: Config): boolean {
  const { objective, correction } = config;
  return (
    objective.policy !== 'reinforce' ||
    correction.level !== 'off' ||
    objective.module !== undefined ||
    isCorrectingKl(config)
  );
}

/** Why a setting has no effect beside the others, or undefined when it has. */
export function inertBecause(path: string, config: Config): string | undefined {
  return inert
    .filter((one) => one.keys.includes(path))
    .map(({ because }) => because(config, path))
    .find(Boolean);
}
