import { drawTokens, searchsorted, type Tensor, tensor } from '@grpo/torch';
import { TokenSets } from '../formats/token-sets.js';
import type { SamplingOptions } from './completion.js';
import { hasPenalties, penalize } from './penalties.js';

/** What a row's token depends on beside its logits. */
export interface RowRules {
  options: SamplingOptions;
  /** In [0, 1); not read at temperature 0. */
  uniform: number;
  /** Tokens so far, which penalties lower. */
  generated: readonly number[];
  /** Whether tokens that are forbidden may be drawn nevertheless. */
  mayEnd: boolean;
}

/** Tokens drawn for `n` rows, with their log-probabilities. */
export interface Draw {
  tokens: number[];
  /** Under softmax(logits / temperature). */
  logprobs: Float32Array;
  /** Under the distribution drawn from. */
  sampledLogprobs: Float32Array;
  /** The coded set of ids that each row's token could have been drawn from, where it is kept and less than all. */
  support: (Uint8Array | undefined)[];
}

/** Whether less than the whole distribution is drawn from. */
export const truncates = ({ temperature, topK, topP, minP }: SamplingOptions) =>
  temperature > 0 && (topK > 0 || topP < 1 || minP > 0);

/**
 * Draws one token per row by inverting the cumulative distribution. Log-probabilities are NaN where a row has no
 * distribution, because its logits are NaN or all are forbidden.
 *
 * @param logits - `[n, V]` float32, of the model
 * @param rows - n, each by its own rules
 * @param forbidden - bool `[V]`, tokens that are not drawn in rows that may not end
 */
export function draw(logits: Tensor, rows: readonly RowRules[], forbidden?: Tensor): Draw {
  if (logits.device === 'cpu') return drawTogether(logits, rows, forbidden);
  // Metal has no float64, and only numbers leave here.
  if (logits.device.startsWith('mps')) return draw(logits.toDevice('cpu'), rows, forbidden?.toDevice('cpu'));
  return drawByOperators(logits, rows, forbidden);
}

/** Numbers that the operator takes for each row. */
const RULES = 8;

/** All rows in one operator. */
function drawTogether(logits: Tensor, rows: readonly RowRules[], forbidden: Tensor | undefined): Draw {
  const rules = new Float64Array(rows.length * RULES);
  for (const [i, { options, mayEnd }] of rows.entries()) {
    const { temperature, topK, topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty } = options;
    const penalties = [repetitionPenalty, presencePenalty, frequencyPenalty];
    rules.set([temperature, topK, topP, minP, ...penalties, mayEnd ? 1 : 0], i * RULES);
  }
  const uniforms = Float64Array.from(rows, ({ uniform }) => uniform);
  const keeps = rows.some(({ options }) => options.keepSupport && truncates(options));
  const [tokens, logprobs, sampled, bytes, lengths] = drawTokens(
    logits,
    tensor(uniforms),
    tensor(rules, [rows.length, RULES]),
    { forbidden: forbidden ?? null, support: keeps, ...generatedOf(rows) },
  );
  const all = keeps ? bytes.toBytes() : undefined;
  let end = 0;
  const sizes = lengths.toNumbers();
  return {
    tokens: tokens.toNumbers(),
    logprobs: logprobs.toTypedArray() as Float32Array,
    sampledLogprobs: sampled.toTypedArray() as Float32Array,
    support: rows.map(({ options }, i) => {
      end += sizes[i] ?? 0;
      return options.keepSupport && truncates(options) ? all!.subarray(end - sizes[i]!, end) : undefined;
    }),
  };
}

function generatedOf(rows: readonly RowRules[]) {
  if (!rows.some(({ options }) => hasPenalties(options))) return {};
  const starts = [0];
  for (const { generated } of rows) starts.push(starts.at(-1)! + generated.length);
  return {
    generated: tensor(
      rows.flatMap(({ generated }) => generated),
      undefined,
      { dtype: 'int64' },
    ),
    generated_offsets: tensor(starts, undefined, { dtype: 'int64' }),
  };
}

/** As {@link draw}, by libtorch's operators: on other devices, and as what the operator of our own is held to. */
export function drawByOperators(logits: Tensor, rows: readonly RowRules[], forbidden?: Tensor): Draw {
  const groups = alike(rows);
  const drawn: Draw = {
    tokens: Array(rows.length),
    logprobs: new Float32Array(rows.length),
    sampledLogprobs: new Float32Array(rows.length),
    support: Array(rows.length),
  };
  for (const places of groups) {
    const on = { dtype: 'int64', device: logits.device } as const;
    const some = groups.length === 1 ? logits : logits.indexSelect(0, tensor(places, undefined, on));
    const ofGroup = drawAlike(
      some,
      places.map((place) => rows[place]!),
      forbidden,
    );
    for (const [i, place] of places.entries()) {
      drawn.tokens[place] = ofGroup.tokens[i]!;
      drawn.logprobs[place] = ofGroup.logprobs[i]!;
      drawn.sampledLogprobs[place] = ofGroup.sampledLogprobs[i]!;
      drawn.support[place] = ofGroup.support[i];
    }
  }
  return drawn;
}

/** The places of rows with equal rules. */
function alike(rows: readonly RowRules[]): number[][] {
  const groups = new Map<string, number[]>();
  for (const [place, { options, mayEnd }] of rows.entries()) {
    const { temperature, topP, topK, minP, repetitionPenalty, presencePenalty, frequencyPenalty } = options;
    const penalties = [repetitionPenalty, presencePenalty, frequencyPenalty];
    const kind = [temperature, topP, topK, minP, ...penalties, options.keepSupport, mayEnd].join();
    const group = groups.get(kind);
    if (group) group.push(place);
    else groups.set(kind, [place]);
  }
  return [...groups.values()];
}

function drawAlike(logits: Tensor, rows: readonly RowRules[], forbidden: Tensor | undefined): Draw {
  const { options, mayEnd } = rows[0]!;
  const { temperature } = options;
  const generated = rows.map((row) => row.generated);
  const penalized = hasPenalties(options) ? penalize(logits, generated, options) : logits;
  const hides = forbidden !== undefined && !mayEnd;
  const adjusted = hides ? penalized.maskedFill(forbidden, Number.NEGATIVE_INFINITY) : penalized;
  const support = Array<undefined>(rows.length).fill(undefined);
  if (temperature === 0) {
    const tokens = adjusted.argmax(-1, true);
    const certain = new Float32Array(tokens.numel);
    return { ...read(tokens, logits.logSoftmax(-1)), sampledLogprobs: certain, support };
  }
  const scores = scaled(logits, temperature);
  const plain = scores.logSoftmax(-1);
  const kept = truncate(adjusted === logits ? scores : scaled(adjusted, temperature), options);
  const wide = kept === scores ? plain : kept.logSoftmax(-1);
  // Float64: in float32 the rounding of a parallel scan can leave room for a token of probability 0.
  const cumulative = wide.exp().cumsum(-1, { dtype: 'float64' });
  const last = cumulative.size(-1) - 1;
  const total = cumulative.narrow(-1, last, 1);
  const uniforms = rows.map(({ uniform }) => uniform);
  const u = tensor(uniforms, [uniforms.length, 1], { dtype: 'float64', device: logits.device });
  const tokens = searchsorted(cumulative, u.mul(total), { right: true }).clamp(null, last);
  const drawn = read(tokens, plain);
  if (wide === plain) return { ...drawn, sampledLogprobs: drawn.logprobs, support };
  const sampled = wide.gather(1, tokens).sub(total.log()).to('float32');
  return {
    ...drawn,
    sampledLogprobs: sampled.toTypedArray() as Float32Array,
    support: options.keepSupport && truncates(options) ? setsOf(kept) : support,
  };
}

/** The ids of each row that are not −∞. */
function setsOf(kept: Tensor): Uint8Array[] {
  const width = kept.size(-1);
  const isKept = kept.isfinite().toBytes();
  const idsOf = (row: number) =>
    Array.from(isKept.subarray(row * width, (row + 1) * width).entries(), ([id, has]) => (has ? id : -1));
  const rows = Array.from({ length: kept.size(0) }, (_, row) => idsOf(row).filter((id) => id >= 0));
  const sets = TokenSets.of(rows);
  return rows.map((_, row) => sets.bytes(row));
}

const scaled = (logits: Tensor, temperature: number) =>
  temperature === 1 ? logits : logits.div(temperature);

const read = (tokens: Tensor, plain: Tensor) => ({
  tokens: tokens.toNumbers(),
  logprobs: plain.gather(1, tokens).toTypedArray() as Float32Array,
});

/**
 * Top-k, then top-p of the rest, then min-p, as transformers orders them; scores that fall out become −∞. A bound of the
 * scores decides, not a place in an order, so equally likely tokens stay or go together.
 */
function truncate(scores: Tensor, { topK, topP, minP }: SamplingOptions): Tensor {
  let kept = scores;
  const keepFrom = (bound: Tensor) => {
    kept = kept.maskedFill(kept.lt(bound), Number.NEGATIVE_INFINITY);
  };
  if (topK > 0 && topK < kept.size(-1)) keepFrom(kept.topk(topK)[0].narrow(-1, topK - 1, 1));
  if (topP < 1) keepFrom(leastInNucleus(kept, topP));
  if (minP > 0) keepFrom(kept.amax([-1], true).add(Math.log(minP)));
  return kept;
}

/** The smallest score in each row's nucleus of `mass`: `[n, V]` → `[n, 1]`. */
function leastInNucleus(scores: Tensor, mass: number): Tensor {
  const [falling] = scores.sort(-1, true);
  const p = falling.to('float64').softmax(-1);
  // A token belongs to the nucleus when the likelier ones before it do not reach the mass yet.
  const before = p.cumsum(-1).sub(p);
  return falling.maskedFill(before.ge(mass), Number.POSITIVE_INFINITY).amin([-1], true);
}
