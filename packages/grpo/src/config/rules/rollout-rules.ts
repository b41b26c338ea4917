import { usesLora } from '../sections/lora.js';
import { rolloutSection } from '../sections/rollout.js';
import { PENALTIES, truncates } from './inert.js';
import type { Rule } from './rule.js';

/** Settings that, unless they have their default, draw completions from another distribution than the policy. */
const DISTORTING = ['minNewTokens', ...PENALTIES] as const;
const PLAIN_ROLLOUT = rolloutSection.parse({});

/** A record of each takes some kilobytes of JavaScript's memory, which has 4 GB. */
const MOST_COMPLETIONS = 100_000;

/** Sampling and evaluation. */
export const rolloutRules: readonly Rule[] = [
  {
    keys: ['eval.samples', 'eval.k'],
    check: ({ eval: { samples, k } }) => {
      const most = Math.max(0, ...(k ?? []));
      return most > samples
        ? `pass@${most} takes at least ${most} samples of a problem, eval.samples is ${samples}. Raise it, or lower eval.k.`
        : undefined;
    },
  },
  {
    keys: ['rollout.minNewTokens', 'rollout.maxNewTokens'],
    check: ({ rollout: { minNewTokens, maxNewTokens } }) =>
      minNewTokens > maxNewTokens
        ? `at least ${minNewTokens} tokens cannot fit into at most ${maxNewTokens}. Raise maxNewTokens or lower minNewTokens.`
        : undefined,
  },
  {
    keys: ['rollout.prompts', 'rollout.group'],
    check: ({ rollout: { prompts, group } }) =>
      prompts * group > MOST_COMPLETIONS
        ? `${prompts} prompts × ${group} are ${prompts * group} completions in a step, of at most ${MOST_COMPLETIONS}: each stays in memory until the step ends. Lower them.`
        : undefined,
  },
  {
    keys: ['rollout.temperature', 'rollout.group'],
    check: ({ rollout }, { command }) => {
      const useless = command === 'expert' ? 'one of them would do' : 'every advantage is 0';
      return rollout.temperature === 0
        ? `at temperature 0 all completions of a group are equal, so ${useless}. Use a temperature above 0.`
        : undefined;
    },
  },
  {
    keys: ['rollout.engine', 'rollout.urls'],
    check: ({ rollout: { engine, urls = [] } }) => {
      if (engine === 'own') return undefined;
      if (urls.length === 0)
        return `engine=${engine} asks servers, and there are none. Give rollout.urls=[http://HOST:PORT].`;
      const twice = urls.find((url, i) => urls.indexOf(url) !== i);
      return twice && `${twice} is there twice. Take one out.`;
    },
  },
  {
    keys: ['rollout.engine', 'lora.rank', 'lora.adapter'],
    check: (config) =>
      config.rollout.engine === 'vllm' && !usesLora(config)
        ? 'a released vLLM takes whole weights by NCCL only, which this trainer does not speak. Train an adapter (lora.rank=16), or sample with SGLang (rollout.engine=sglang), which reads weights from a folder.'
        : undefined,
  },
  ...DISTORTING.map(
    (name): Rule => ({
      keys: ['rollout.engine', `rollout.${name}`],
      check: ({ rollout }) =>
        rollout.engine !== 'own' && rollout[name] !== PLAIN_ROLLOUT[name]
          ? `a server answers with log-probs of the distribution that it drew from, and with rollout.${name} that is not the policy's: ratios and corrections would be wrong. Use rollout.${name}=${PLAIN_ROLLOUT[name]}.`
          : undefined,
    }),
  ),
  ...(['topP', 'topK', 'minP'] as const).map(
    (name): Rule => ({
      keys: ['rollout.engine', `rollout.${name}`, 'rollout.keepSupport'],
      check: ({ rollout }) =>
        rollout.engine !== 'own' && rollout[name] !== PLAIN_ROLLOUT[name] && !rollout.keepSupport
          ? `a server answers with log-probs over the ids that rollout.${name} leaves, and without these ratios and corrections would be wrong. Use rollout.keepSupport=true, or rollout.${name}=${PLAIN_ROLLOUT[name]}.`
          : undefined,
    }),
  ),
  ...PENALTIES.map(
    (name): Rule => ({
      keys: [`rollout.${name}`, 'rollout.topP', 'rollout.topK', 'rollout.minP', 'rollout.keepSupport'],
      check: ({ rollout }, { command }) =>
        command === 'train' &&
        rollout[name] !== PLAIN_ROLLOUT[name] &&
        truncates(rollout) &&
        rollout.keepSupport
          ? `the log-probs over the ids that top-k, top-p and min-p leave have rollout.${name} in them for the sampler, and not for the trainer: ratios would be off by it. Use rollout.keepSupport=false, or rollout.${name}=${PLAIN_ROLLOUT[name]}.`
          : undefined,
    }),
  ),
  {
    keys: ['rollout.engine', 'rollout.topK', 'rollout.topP', 'rollout.minP'],
    check: ({ rollout }) =>
      rollout.engine === 'vllm' && truncates(rollout) && rollout.topK === 0
        ? 'vLLM tells the ids that sampling kept only where a top-k bounds them. Give rollout.topK, such as 512, beside top-p and min-p.'
        : undefined,
  },
];
