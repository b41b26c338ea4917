/** The objective as a formula in plain text, built from the choices. */
import { usesOldPolicy } from '../../config/rules/inert.js';
import type { Config } from '../../config/schema.js';
import { counted } from '../../errors/counted.js';
import { advantageText, rewardText } from './advantage-text.js';
import { correctionText, weightSymbol } from './correction-text.js';
import { betaText, klText } from './kl-text.js';
import { decimal } from './number.js';

/** A symbol of the formula and its meaning. */
export interface Meaning {
  symbol: string;
  text: string;
}

export interface Formula {
  /** The loss, one summand per line. */
  loss: string[];
  where: Meaning[];
}

/** The sums that a term of each token, and one of each completion, goes through. */
export function means({ objective: { aggregation, normalizer } }: Config): string {
  switch (aggregation) {
    case 'sequence_mean':
      return '1/N Σᵢ 1/|oᵢ| Σₜ';
    case 'token_mean':
      return '1/T Σᵢ Σₜ';
    case 'micro_token_mean':
      return 'Σₘ Nₘ/N 1/Tₘ Σᵢ Σₜ';
    case 'constant':
      return `1/N Σᵢ 1/${normalizer} Σₜ`;
    case 'sum':
      return '1/N Σᵢ Σₜ';
  }
}

const ratioSymbol = ({ objective: { ratio } }: Config) => (ratio === 'sequence' ? 'rᵢ' : 'rᵢₜ');

function policyTerm(config: Config): string {
  const { policy, clipLow, clipHigh, delta, cap, module } = config.objective;
  const r = ratioSymbol(config);
  if (module !== undefined) return 'ℓᵢₜ';
  switch (policy) {
    case 'clip': {
      const free = delta === undefined ? r : `min(${r}, ${decimal(delta)})`;
      return `−min(${free} Aᵢ, clip(${r}, ${decimal(1 - clipLow)}, ${decimal(1 + clipHigh)}) Aᵢ)`;
    }
    case 'reinforce':
      return '−Aᵢ log π(oᵢₜ)';
    case 'cispo':
      return `−sg(min(${r}, ${decimal(cap)})) Aᵢ log π(oᵢₜ)`;
    case 'sapo':
      return `−4/τᵢ σ(τᵢ (${r} − 1)) Aᵢ`;
    case 'vespo':
      return '−sg(φᵢ) Aᵢ log π(oᵢₜ)';
    case 'gmpo':
      return '−exp(1/|oᵢ| Σₛ dᵢₛ) Aᵢ';
    case 'dppo_tv':
    case 'dppo_kl':
      return `−uᵢₜ sg(min(rᵢₜ, ${decimal(cap)})) Aᵢ log π(oᵢₜ)`;
  }
}

/** Factors of the policy term in the sum. */
function factors(config: Config): string {
  const { objective, entropy, correction } = config;
  const masked = entropy.topShare < 1 || objective.offPolicyThreshold !== undefined;
  const corrected =
    objective.policy === 'vespo' || correction.level === 'off' ? '' : `${weightSymbol(config)} `;
  return `${masked ? 'mᵢₜ ' : ''}${corrected}`;
}

/**
 * The formula of a configuration.
 *
 * @param isDiffusion - it is for a masked-diffusion model
 */
export function formulaOf(config: Config, isDiffusion = false): Formula {
  const { kl, entropy, advantage, objective } = config;
  const hasPolicy = advantage.weight !== 0 || objective.module !== undefined;
  const inLoss = kl.beta > 0 && kl.place === 'loss';
  // A KL per completion is averaged over completions; the token weights of the policy do not apply.
  const klMeans = kl.level === 'token' ? `${means(config)} ` : '1/N Σᵢ ';
  const k = kl.level === 'token' ? 'Kᵢₜ' : 'Kᵢ';
  const hasBonus = entropy.coefficient > 0 || entropy.adaptive;
  return {
    loss: [
      ...(hasPolicy ? [`${means(config)} ${factors(config)}${policyTerm(config)}`] : []),
      ...(inLoss ? [`${hasPolicy ? '+ ' : ''}β ${klMeans}${k}`] : []),
      ...(hasBonus ? ['− c H'] : []),
    ],
    where: [
      ...sizes(config),
      ...(hasPolicy
        ? [
            { symbol: 'Aᵢ', text: advantageText(config) },
            { symbol: 'Rᵢ', text: rewardText(config) },
            ...policyMeanings(config),
            ...maskMeanings(config),
          ]
        : kl.biasCorrected
          ? [oldMeaning(config)]
          : []),
      ...(kl.beta > 0
        ? [
            { symbol: k, text: klText(config) },
            { symbol: 'β', text: betaText(config) },
          ]
        : []),
      ...(hasBonus ? entropyMeanings(config) : []),
      { symbol: 'π', text: scored(config) },
      ...(isDiffusion ? [{ symbol: 'log π', text: estimated(config) }] : []),
    ],
  };
}

function sizes({ objective, rollout }: Config): Meaning[] {
  const { iterations, minibatches, aggregation, maskTruncated } = objective;
  const completions = (rollout.prompts * rollout.group) / minibatches;
  const updates = iterations * minibatches;
  const which = updates === 1 ? 'the one update' : `each of the ${updates} updates`;
  const cut = maskTruncated ? '; cut completions have none' : '';
  return [
    {
      symbol: 'N',
      text: `${completions} completions oᵢ of ${which} from a rollout (${counted(rollout.prompts, 'prompt')} × ${rollout.group})`,
    },
    { symbol: '|oᵢ|', text: `trained tokens of a completion, T = Σᵢ |oᵢ|${cut}` },
    ...(aggregation === 'micro_token_mean'
      ? [{ symbol: 'm', text: 'a micro-batch, of Nₘ completions and Tₘ trained tokens' }]
      : []),
  ];
}

function policyMeanings(config: Config): Meaning[] {
  const { policy, slopePositive, slopeNegative, clipLow, clipHigh, module, ratio } = config.objective;
  if (module !== undefined) return [{ symbol: 'ℓᵢₜ', text: `what ${module} makes of it` }];
  const old = oldMeaning(config);
  const k = (pair: readonly [number, number]) => `wᵢ^${decimal(pair[0])} exp(${decimal(pair[1])} (1 − wᵢ))`;
  switch (policy) {
    case 'reinforce':
      return usesOldPolicy(config) ? [{ symbol: ratioSymbol(config), text: ratios[ratio] }, old] : [];
    case 'gmpo': {
      const bounds = `${decimal(-clipLow)} and ${decimal(clipHigh)}`;
      return [
        { symbol: 'dᵢₛ', text: `log(π(oᵢₛ) / π_old(oᵢₛ)), bounded on the side where A gains: at ${bounds}` },
        old,
      ];
    }
    case 'vespo': {
      const { vespoPositive, vespoNegative } = config.objective;
      return [
        { symbol: 'φᵢ', text: `${k(vespoPositive)} where Aᵢ ≥ 0, else ${k(vespoNegative)}` },
        { symbol: 'wᵢ', text: 'product over the completion of π(oᵢₜ) / π_old(oᵢₜ)' },
        old,
      ];
    }
    case 'dppo_tv':
    case 'dppo_kl':
      return [{ symbol: 'uᵢₜ', text: trustRegionText(config) }, { symbol: 'rᵢₜ', text: ratios.token }, old];
    case 'sapo':
      return [
        { symbol: 'τᵢ', text: `${decimal(slopePositive)} where Aᵢ > 0, else ${decimal(slopeNegative)}` },
        { symbol: ratioSymbol(config), text: ratios[ratio] },
        old,
      ];
    default:
      return [{ symbol: ratioSymbol(config), text: ratios[ratio] }, old];
  }
}

/** The tokens that DPPO leaves out. */
function trustRegionText({ objective: { policy, divergenceLow, divergenceHigh } }: Config): string {
  const [low, high] = [decimal(divergenceLow), decimal(divergenceHigh)];
  if (policy === 'dppo_tv')
    return `0 where Aᵢ > 0 and π(oᵢₜ) − π_old(oᵢₜ) > ${high}, or Aᵢ < 0 and π_old(oᵢₜ) − π(oᵢₜ) > ${low}; else 1`;
  return `0 where Dᵢₜ > ${high}, Aᵢ > 0 and rᵢₜ > 1, or Dᵢₜ > ${low}, Aᵢ < 0 and rᵢₜ < 1; else 1. Dᵢₜ = KL(π_old ‖ π) of two outcomes, oᵢₜ and any other`;
}

const ratios: Record<Config['objective']['ratio'], string> = {
  none: 'π(oᵢₜ) / π_old(oᵢₜ)',
  token: 'π(oᵢₜ) / π_old(oᵢₜ)',
  sequence: 'exp(1/|oᵢ| Σₜ log(π(oᵢₜ) / π_old(oᵢₜ))), one ratio for all tokens of oᵢ',
  sequence_token: 'sg(exp(1/|oᵢ| Σₛ log(π(oᵢₛ) / π_old(oᵢₛ)))) π(oᵢₜ) / sg(π(oᵢₜ))',
};

const oldMeaning = (config: Config): Meaning => ({ symbol: 'π_old', text: oldPolicy(config) });

function oldPolicy({ objective: { oldLogprobs, iterations, minibatches } }: Config): string {
  switch (oldLogprobs) {
    case 'detach':
      return 'sg(π): the ratio is 1, its gradient is not 0';
    case 'recompute':
      return iterations * minibatches === 1
        ? 'π before the update: the ratio is 1 up to rounding'
        : 'π before the first update, in a pass of its own';
    case 'sampler':
      return 'what the sampler had when it drew the tokens';
  }
}

function maskMeanings(config: Config): Meaning[] {
  const { objective, entropy, correction } = config;
  const { offPolicyThreshold: threshold } = objective;
  const conditions = [
    ...(entropy.topShare < 1
      ? [`the token is among the ${decimal(100 * entropy.topShare)} % of highest entropy of its micro-batch`]
      : []),
    ...(threshold === undefined
      ? []
      : [`Aᵢ ≥ 0, or log π fell by at most ${decimal(threshold)} nats a token since oᵢ was sampled`]),
  ];
  return [
    ...(conditions.length > 0
      ? [{ symbol: 'mᵢₜ', text: `1 where ${conditions.join(' and ')}; else 0` }]
      : []),
    ...(correction.level === 'off'
      ? []
      : [{ symbol: weightSymbol(config), text: correctionText(correction) }]),
  ];
}

function entropyMeanings({ entropy }: Config): Meaning[] {
  const { coefficient, adaptive, target, delta, least, most, topShare } = entropy;
  const tokens = topShare < 1 ? 'those tokens' : 'the trained tokens';
  const c = adaptive
    ? `${decimal(coefficient)} at first; ± ${decimal(delta)} an update towards an entropy of ${decimal(target)}, within ${decimal(least)} … ${decimal(most)}; 0 above it`
    : decimal(coefficient);
  return [
    { symbol: 'c', text: c },
    { symbol: 'H', text: `mean entropy of π over ${tokens}, in nats` },
  ];
}

function scored({ rollout: { temperature } }: Config): string {
  const softmax = temperature === 1 ? 'softmax(logits)' : `softmax(logits / ${decimal(temperature)})`;
  return `${softmax}, the policy; sg() takes no gradient`;
}

/** How the log-probs of a masked-diffusion model are estimated. */
function estimated({ diffusion: { estimator, promptMaskRate, maskRates } }: Config): string {
  const [least, most] = maskRates.map(decimal);
  const share =
    least === most ? `the share ${least} of oᵢ` : `a share t of oᵢ, drawn from ${least} … ${most}`;
  const text = {
    d1: `of each token with all of oᵢ hidden, and ${decimal(100 * promptMaskRate)} % of the prompt`,
    coupled: `of each token: half with all of oᵢ hidden, half with ${share}, or with the rest, divided by t or 1 − t`,
    sum_masked: `of the tokens that are hidden, ${share}; others have no part in L`,
  }[estimator];
  return `${text}. π_old and the reference see the same, and each pass over a rollout other masks`;
}
