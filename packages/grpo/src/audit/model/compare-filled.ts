import type { Comparison } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import type { PlainModel } from '../plain/plain-model.js';
import { type PlainPass, type PlainView, passesOf } from '../plain/plain-pass.js';
import { compareNumbers } from './compare-numbers.js';
import { compareRows } from './compare-rows.js';
import { type PlainCompletion, samplingRules } from './plain-step.js';
import { scoresMovedByRounding } from './rounding.js';
import { toleranceOf } from './tolerance.js';

/** Denoising steps of a completion that are computed again. */
const STEPS = 4;

/**
 * Prompt → completion of a masked-diffusion model: the sampler's log-prob of a token is that of the step that filled its
 * place, which saw what the steps before had filled, and its random number that of step and place. Some steps of each
 * completion are computed again.
 */
export function compareFilled(
  context: AuditContext,
  model: PlainModel,
  completions: readonly PlainCompletion[],
): Comparison[] {
  const { trainer, batch, tell } = context;
  const rules = { ...samplingRules(trainer), maskId: model.maskId };
  const sequences = completions.map(({ place, prompt, completion }) => {
    const { ids, order } = batch.completions_B[place]!.region!;
    const plan = someOf([...new Set(order.slice(0, completion.length))]).map((step) =>
      viewOf(order, step, prompt.length),
    );
    return { prompt, completion, masked: { region: ids, plan } };
  });
  const rulesOf = ({ tokens }: PlainPass) => ({ ...rules, places: tokens });
  const { temperature } = rules;
  const scores = scoreSequences(model, sequences, temperature, tell, rulesOf);
  const scored = sequences.map((one, i) => ({ ...one, scores: scores[i]! }));
  const moved = scoresMovedByRounding(model, scored, { temperature, tell, rulesOf });
  const rows = completions.map(({ place, completion }, i) => ({
    completion: place,
    found: batch.completions_B[place]!.logprobs,
    plain: scores[i]!.logprobs,
    tokens: [...completion.keys()].filter((t) =>
      sequences[i]!.masked.plan.some(({ scored }) => scored![t] === 1),
    ),
    moved: () => moved()[i]!.logprobs,
  }));
  const drawn = completions.map(({ place }, i) => {
    const { order } = batch.completions_B[place]!.region!;
    const filled = passesOf(model, sequences[i]!).flatMap(({ tokens }) => tokens);
    const keysOf = (t: number) => [order[t]!, t];
    return {
      place,
      drawn: scores[i]!.drawn.map((one, n) => ({ ...one, keys: keysOf(filled[n]!) })),
      moved: () => moved()[i]!.numbers,
    };
  });
  return [
    ...compareRows('completion', 'log-prob of the sampler', rows, toleranceOf(trainer.model.decoder.dtype)),
    ...compareNumbers(context, drawn),
  ];
}

/** The input of a denoising step: the places that this step and later ones fill are hidden. */
function viewOf(
  order: readonly number[],
  step: number,
  promptLength: number,
): PlainView & { scored: Uint8Array } {
  return {
    prompt: new Uint8Array(promptLength),
    region: Uint8Array.from(order, (own) => Number(own >= step)),
    scored: Uint8Array.from(order, (own) => Number(own === step)),
    weight: 1,
  };
}

/** From the first to the last, evenly. */
function someOf(steps: readonly number[]): number[] {
  const ascending = [...steps].sort((a, b) => a - b);
  if (ascending.length <= STEPS) return ascending;
  const last = ascending.length - 1;
  return Array.from({ length: STEPS }, (_, i) => ascending[Math.round((i * last) / (STEPS - 1))]!);
}
