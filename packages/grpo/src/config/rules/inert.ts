/** Settings that have no effect beside others: given by hand they are refused, and `explain` leaves them out. */
import { keys } from '../keys.js';
import type { Config } from '../schema.js';
import { usesLora } from '../sections/lora.js';

interface Inert {
  key: string;
  /** Keys that take the effect away. */
  beside: readonly string[];
  /** Why it has no effect, and the settings that would give it one; undefined when it has. */
  because(config: Config): string | undefined;
}

type Policy = Config['objective']['policy'];

/** Settings of one choice, such as the cap of cispo, as declared in their sections. */
const ofChoices: readonly Inert[] = keys.flatMap(({ path, schema: { appliesTo } }) =>
  appliesTo === undefined
    ? []
    : {
        key: path,
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
    key: 'objective.ratio',
    beside: ['objective.policy'],
    because: (config) =>
      COMPARED.includes(config.objective.policy) || isCorrectingKl(config)
        ? undefined
        : `policy=${config.objective.policy} takes no ratio, or one of its own. It is for ${COMPARED.join(', ')}`,
  },
  {
    key: 'objective.oldLogprobs',
    beside: ['objective.policy'],
    because: (config) =>
      usesOldPolicy(config)
        ? undefined
        : `policy=${config.objective.policy} does not compare with the old policy`,
  },
  {
    key: 'objective.normalizer',
    beside: ['objective.aggregation'],
    because: ({ objective: { aggregation } }) =>
      aggregation === 'constant'
        ? undefined
        : `aggregation=${aggregation} divides by no constant. It is for constant`,
  },
  {
    key: 'advantage.scale',
    beside: ['advantage.combine'],
    because: ({ advantage: { combine } }) =>
      combine === 'normalize_then_sum'
        ? `combine=${combine} always divides by the deviation of the group`
        : undefined,
  },
  ...['epsilon', 'floor'].map(
    (key): Inert => ({
      key: `advantage.${key}`,
      beside: ['advantage.scale'],
      because: (config) => (divides(config) ? undefined : withoutDeviation(config)),
    }),
  ),
  {
    key: 'advantage.ddof',
    beside: ['advantage.scale', 'advantage.flatBelow'],
    because: (config) =>
      divides(config) || config.advantage.flatBelow > 0 ? undefined : withoutDeviation(config),
  },
  ...['baseline', 'ddof', 'floor'].map(
    (key): Inert => ({
      key: `advantage.${key}`,
      beside: ['objective.compat'],
      because: ({ objective: { compat } }) =>
        compat === undefined
          ? undefined
          : `compat=${compat} takes the advantages by TRL's own sums, which do not know it`,
    }),
  ),
  ...[
    { key: 'advantage.flatBelow', beside: ['advantage.baseline', 'advantage.flat'] },
    { key: 'advantage.flat', beside: ['advantage.baseline'] },
  ].map(
    (one): Inert => ({
      ...one,
      because: ({ advantage: { baseline, flat } }) =>
        baseline === 'none' && flat !== 'drop' ? 'without a baseline no group counts as flat' : undefined,
    }),
  ),
  ...KL_KEYS.map(
    (key): Inert => ({
      key: `kl.${key}`,
      beside: ['kl.beta'],
      because: ({ kl: { beta } }) => (beta === 0 ? 'with kl.beta=0 there is no KL' : undefined),
    }),
  ),
  {
    key: 'kl.warmup',
    beside: ['kl.warmupSteps'],
    because: ({ kl: { warmupSteps } }) => (warmupSteps === 0 ? 'there is no warm-up' : undefined),
  },
  ...['target', 'least', 'most', 'window'].map(
    (key): Inert => ({
      key: `kl.${key}`,
      beside: ['kl.control'],
      because: ({ kl: { control } }) =>
        control === 'fixed' ? 'control=fixed leaves the weight alone' : undefined,
    }),
  ),
  {
    key: 'kl.referenceMix',
    beside: ['kl.referenceEvery'],
    because: ({ kl: { referenceEvery } }) =>
      referenceEvery === 0 ? 'the reference stays what it is. Give kl.referenceEvery too' : undefined,
  },
  {
    key: 'kl.biasCorrected',
    beside: ['kl.place'],
    because: ({ kl: { place } }) =>
      place === 'reward'
        ? 'the KL in the reward is that of the policy that sampled: the ratio is 1'
        : undefined,
  },
  ...['target', 'delta', 'least', 'most'].map(
    (key): Inert => ({
      key: `entropy.${key}`,
      beside: ['entropy.adaptive'],
      because: ({ entropy: { adaptive } }) =>
        adaptive ? undefined : 'the weight of the bonus stays. Give entropy.adaptive=true too',
    }),
  ),
  ...['urls', 'apiKeyEnv', 'timeoutSeconds', 'weightsFolder'].map(
    (key): Inert => ({
      key: `rollout.${key}`,
      beside: ['rollout.engine'],
      because: ({ rollout: { engine }, teacher }) =>
        engine === 'own' && !(key === 'timeoutSeconds' && teacher.engine !== 'own')
          ? 'engine=own samples in this process. It is for vllm and sglang'
          : undefined,
    }),
  ),
  ...['url', 'apiKeyEnv'].map(
    (key): Inert => ({
      key: `teacher.${key}`,
      beside: ['teacher.engine'],
      because: ({ teacher: { engine } }) =>
        engine === 'own' ? 'engine=own loads teacher.model. It is for vllm and sglang' : undefined,
    }),
  ),
  {
    key: 'rollout.keepSupport',
    beside: ['rollout.topP', 'rollout.topK', 'rollout.minP'],
    because: ({ rollout }) =>
      truncates(rollout)
        ? undefined
        : 'every token can be drawn. Give rollout.topP, rollout.topK or rollout.minP too',
  },
  ...['alpha', 'targets'].map(
    (key): Inert => ({
      key: `lora.${key}`,
      beside: ['lora.rank'],
      because: ({ lora: { rank, adapter } }) =>
        rank === 0 && adapter === undefined
          ? 'with lora.rank=0 there are no adapters, all weights are trained'
          : undefined,
    }),
  ),
  ...['rank', 'alpha', 'targets'].map(
    (key): Inert => ({
      key: `lora.${key}`,
      beside: ['lora.adapter'],
      because: ({ lora: { adapter } }) =>
        adapter === undefined ? undefined : 'the adapter in lora.adapter has its own',
    }),
  ),
  {
    key: 'lora.dropout',
    beside: ['lora.rank', 'lora.adapter'],
    because: (config) => (usesLora(config) ? undefined : 'there are no adapters. Give lora.rank too'),
  },
  {
    key: 'optimizer.minLearningRate',
    beside: ['optimizer.schedule'],
    because: ({ optimizer: { schedule } }) =>
      schedule === 'constant' ? 'schedule=constant does not fall' : undefined,
  },
  {
    key: 'train.kindGradients',
    beside: ['kl.kindKey'],
    because: ({ kl: { kindKey } }) =>
      kindKey === undefined ? 'the problems are of one kind. Give kl.kindKey too' : undefined,
  },
  {
    key: 'kl.clip',
    beside: ['kl.estimator'],
    because: ({ kl: { estimator } }) =>
      estimator === 'full' ? 'the full KL is no estimate from a difference of log-probs' : undefined,
  },
  {
    key: 'correction.level',
    beside: ['objective.oldLogprobs'],
    because: ({ objective: { oldLogprobs } }) =>
      oldLogprobs === 'sampler' ? "the old log-probs are the sampler's own, so every weight is 1" : undefined,
  },
  ...['measure', 'action', 'min', 'max'].map(
    (key): Inert => ({
      key: `correction.${key}`,
      beside: ['correction.level'],
      because: ({ correction: { level } }) =>
        level === 'off' ? 'nothing is corrected. Give correction.level too' : undefined,
    }),
  ),
  {
    key: 'eval.stopAt',
    beside: ['eval.every'],
    because: ({ eval: { every } }) =>
      every === 0 ? 'the model is evaluated before and after the run only. Give eval.every too' : undefined,
  },
  ...['temperature', 'k'].map(
    (key): Inert => ({
      key: `eval.${key}`,
      beside: ['eval.samples'],
      because: ({ eval: { samples } }) => (samples === 0 ? 'evaluation draws no samples' : undefined),
    }),
  ),
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
    .filter(({ key }) => key === path)
    .map(({ because }) => because(config))
    .find(Boolean);
}
