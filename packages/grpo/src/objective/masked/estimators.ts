import type { Estimator } from '../../config/choices.js';
import type { DiffusionSettings } from '../../config/sections/diffusion.js';
import { uniform } from '../../maths/random.js';
import type { Region } from '../../rollout/index.js';
import type { MaskPlan } from './mask-plan.js';

/** A prompt and its completions, as far as a plan of masks may depend on them. */
export interface PlannedGroup {
  prompt: readonly number[];
  completions: readonly { ids: readonly number[]; region: Region }[];
}

/** Numbers in [0, 1) that decide what a plan hides. */
interface PlanDraws {
  /** Of each token of the prompt, the same for all completions of a group: `[P]`. */
  prompt: readonly number[];
  /** Of each place of the region: `[W]`. */
  region: readonly number[];
  /** Of the share of the region that is hidden. */
  rate: number;
}

type EstimatorSettings = Pick<DiffusionSettings, 'estimator' | 'promptMaskRate' | 'maskRates'>;

/** @param tokens - of the completion, which begins the region */
type Plan = (draws: PlanDraws, tokens: number, settings: EstimatorSettings) => MaskPlan;

/**
 * One pass with the whole region hidden; tokens of the prompt are hidden at random, so that passes over one rollout
 * differ (d1: Zhao et al., 2025, section 3.2). A group has one mask of its prompt, so its completions share the pass.
 */
const d1: Plan = ({ prompt, region }, _tokens, { promptMaskRate }) => [
  { prompt: below(promptMaskRate, prompt), region: below(1, region), weight: 1 },
];

/**
 * Half of the log-prob with the whole region hidden, and half of that in one of two passes which hide complementary
 * places, by the inverse of their chance (coupled-GRPO, in DiffuCoder: Gong et al., 2025, section 4.2).
 */
const coupled: Plan = ({ prompt, region, rate: draw }, _tokens, { maskRates }) => {
  const rate = rateOf(maskRates, draw);
  const hidden = below(rate, region);
  const open = below(0, prompt);
  return [
    { prompt: open, region: below(1, region), weight: 1 / 2 },
    { prompt: open, region: hidden, weight: 1 / (2 * rate) },
    { prompt: open, region: hidden.map((is) => 1 - is), weight: 1 / (2 * (1 - rate)) },
  ];
};

/** The log-probs of places that are hidden at random, at least one token's; the others have no part in the loss. */
const sumMasked: Plan = ({ prompt, region, rate }, tokens, { maskRates }) => {
  const hidden = below(rateOf(maskRates, rate), region);
  const own = region.slice(0, tokens);
  if (tokens > 0) hidden[own.indexOf(Math.min(...own))] = 1;
  return [{ prompt: below(0, prompt), region: hidden, weight: 1 }];
};

const estimators: Record<Estimator, Plan> = { d1, coupled, sum_masked: sumMasked };

/** Passes over a group: shared by all of its completions, and of each. */
export const passesOf: Readonly<Record<Estimator, { shared: number; own: number }>> = {
  d1: { shared: 1, own: 0 },
  coupled: { shared: 1, own: 2 },
  sum_masked: { shared: 0, own: 1 },
};

/** Draws of masks have a stream of their own. */
export const MASK_STREAM = -3;

/** Stands for the number of a completion where all of its group share the draw, and for that of a place in the draw of a rate. */
const ALL = -1;

/**
 * Plans which places each pass hides, for one iteration over the completions of a step.
 *
 * @param seed - with step and iteration it fixes the draws
 * @returns one plan per completion, group after group
 */
export function planMasks(
  groups: readonly PlannedGroup[],
  settings: EstimatorSettings,
  seed: number,
  { step, iteration }: { step: number; iteration: number },
): MaskPlan[] {
  return groups.flatMap(({ prompt, completions }, p) => {
    const draw = (g: number, place: number) => uniform(seed, step, MASK_STREAM, iteration, p, g, place);
    const prompts = prompt.map((_, i) => draw(ALL, i));
    return completions.map(({ ids, region }, g) => {
      const draws = { prompt: prompts, region: region.ids.map((_, i) => draw(g, i)), rate: draw(g, ALL) };
      return estimators[settings.estimator](draws, ids.length, settings);
    });
  });
}

/** Whether a pass of the plan hides a token. */
export const isEstimated = (plan: MaskPlan, token: number): boolean =>
  plan.some(({ region }) => region[token] === 1);

/** 1 where a draw is below the rate. */
const below = (rate: number, draws: readonly number[]) =>
  Uint8Array.from(draws, (draw) => (draw < rate ? 1 : 0));

const rateOf = ([least, most]: EstimatorSettings['maskRates'], draw: number) => least + (most - least) * draw;
