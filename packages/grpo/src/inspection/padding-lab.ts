import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { toleranceOf } from '../audit/model/tolerance.js';
import { type Decoder, type Model, packSegments } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import { Watch } from '../progress/watch.js';
import { plainSampling, sample } from '../rollout/index.js';
import type { InspectionCheck } from './check.js';
import { padsOf } from './padding.js';

/** How far log-probs of the same tokens lie apart, in nats. */
export interface Apart {
  most: number;
  mean: number;
}

/** What mistakes with padding do to the log-probs of a model, and what our own batch does. */
export interface PaddingMeasured {
  completions: number;
  tokens: number;
  /** From one batch of all prompts to each completion alone, and to the sampler's log-probs. */
  alone: Apart;
  sampler: Apart;
  /** As much as rounding explains. */
  bound: Apart;
  /** Where positions count the padding; null where the padded row is longer than the model's context. */
  positions: Apart | null;
  /** Where the completion attends to the padding. */
  attended: Apart | null;
  /** A mask that begins at the prompt's length, not at the batch's width: completions without a token, and tokens lost. */
  mask: { completions: number; tokens: number };
}

/** Scores completions as a step does. */
type Score = typeof scoreTokens;

const COUNT = 2;
const TOKENS = 16;

/**
 * Samples completions of prompts of different lengths, scores them together and alone, and with each mistake.
 *
 * @param score - training's own scoring, which is held to a plain one
 */
export async function measurePadding(
  model: Model,
  prompts: readonly (readonly number[])[],
  {
    seed = 0,
    watch = new Watch(),
    score = scoreTokens,
  }: { seed?: number; watch?: Watch; score?: Score } = {},
): Promise<PaddingMeasured> {
  const { decoder } = model;
  const requests = prompts.map((ids, p) => ({ ids, count: COUNT, keys: [0, p] }));
  const options = { ...plainSampling, maxNewTokens: TOKENS };
  const groups = await sample(model, requests, options, seed, watch.named('padding'));
  const scored = tidy(() =>
    noGrad(() => {
      const batch = groups.map((group, p) => ({
        prompt: prompts[p]!,
        completions: group.map(({ ids }) => ids),
      }));
      return Array.from(score(decoder, batch, 1).logprobs_T.toTypedArray() as Float32Array);
    }),
  );
  const pads = padsOf(prompts);
  let start = 0;
  const rows = groups.flatMap((group, p) =>
    group.map(({ ids, logprobs }): Row => {
      const own = scored.slice(start, start + ids.length);
      start += ids.length;
      return { prompt: prompts[p]!, ids, pads: pads[p]!, sampled: Array.from(logprobs), scored: own };
    }),
  );
  const pad = model.tokenizer.padId ?? [...model.endIds][0]!;
  const padded = rows.filter((row) => row.pads > 0);
  const fits = Math.max(...prompts.map(({ length }) => length)) + TOKENS <= decoder.config.maxPositions;
  const mistaken = (of: (row: Row) => readonly number[]) => (fits ? apartOf(padded, of) : null);
  const tolerance = toleranceOf(decoder.dtype);
  const lost = rows.map((row) => Math.min(row.pads, row.ids.length));
  return {
    completions: rows.length,
    tokens: scored.length,
    alone: apartOf(rows, (row) => scoreAlone(decoder, row.prompt, row.ids)),
    sampler: apartOf(rows, (row) => row.sampled),
    bound: { most: tolerance.token, mean: tolerance.all },
    positions: mistaken((row) => scoreAlone(decoder, row.prompt, row.ids, row.pads)),
    attended: mistaken((row) =>
      scoreAlone(decoder, [...Array<number>(row.pads).fill(pad), ...row.prompt], row.ids),
    ),
    mask: {
      completions: rows.filter(({ ids }, b) => lost[b] === ids.length).length,
      tokens: lost.reduce((sum, tokens) => sum + tokens, 0),
    },
  };
}

/** A completion with its log-probs. */
interface Row {
  prompt: readonly number[];
  ids: readonly number[];
  /** Places of padding that a batch would put in front. */
  pads: number;
  sampled: readonly number[];
  scored: readonly number[];
}

function apartOf(rows: readonly Row[], of: (row: Row) => readonly number[]): Apart {
  const values = rows.flatMap((row) => of(row).map((value, t) => Math.abs(value - row.scored[t]!)));
  return { most: Math.max(...values), mean: values.reduce((sum, value) => sum + value, 0) / values.length };
}

/** Log-probs of one completion by itself, its positions counted from `shift`. */
function scoreAlone(
  decoder: Decoder,
  prompt: readonly number[],
  completion: readonly number[],
  shift = 0,
): number[] {
  const { device, config } = decoder;
  return tidy(() =>
    noGrad(() => {
      const packed = packSegments([{ ids: [...prompt, ...completion.slice(0, -1)] }], config, device);
      const moved = { ...packed, positions_N: packed.positions_N.add(shift) };
      const hidden: Tensor = decoder.hidden(moved, packed.attend);
      const logits = decoder.logits(hidden.narrow(0, prompt.length - 1, completion.length));
      const targets = tensor([...completion], [completion.length, 1], { dtype: 'int64', device });
      const logprobs = logits.logSoftmax(-1).gather(1, targets).toTypedArray();
      return Array.from(logprobs as Float32Array);
    }),
  );
}

/**
 * Whether our own batch is free of the mistakes; not judged where the mistakes themselves would not show.
 *
 * @param measured - undefined of a masked-diffusion model
 */
export function paddingCheck(measured: PaddingMeasured | undefined): InspectionCheck {
  const name = 'padding';
  if (!measured)
    return {
      name,
      verdict: 'not applicable',
      says: 'the mistakes with padding are those of causal models; this is a masked-diffusion model',
      log: [],
    };
  const { alone, sampler, bound, positions, attended, mask, completions, tokens } = measured;
  const nats = (apart: Apart | null) =>
    apart === null ? 'does not fit the context' : `${apart.mean} nats per token, at most ${apart.most}`;
  const log = [
    `${completions} completions, ${tokens} tokens, sampled and scored in one batch`,
    `alone against in the batch: ${nats(alone)}`,
    `sampler against scoring: ${nats(sampler)}`,
    `rounding: ${nats(bound)}`,
    `positions that count the padding: ${nats(positions)}`,
    `padding attended to: ${nats(attended)}`,
    `mask from the right: ${mask.completions} completions without a token, ${mask.tokens} tokens lost`,
  ];
  // NaN is no proof either.
  const isRounding = (apart: Apart) => apart.mean <= bound.mean && apart.most <= bound.most;
  if (!isRounding(alone) || !isRounding(sampler))
    return {
      name,
      verdict: 'fail',
      says: `A completion's log-probs differ from those alone by ${nats(alone)}, and from the sampler's by ${nats(sampler)}; rounding explains ${nats(bound)}.`,
      remedy: 'Score completions without padding, or with a mask and positions that leave it out.',
      log,
    };
  return [attended, positions].some((apart) => apart && apart.mean > bound.mean)
    ? {
        name,
        verdict: 'pass',
        says: 'A completion has the same log-probs alone, in a batch of other lengths, and as it was sampled.',
        log,
      }
    : {
        name,
        verdict: 'not applicable',
        says: 'the mistakes would not change a log-prob of this model, so that equal ones prove nothing',
        log,
      };
}
