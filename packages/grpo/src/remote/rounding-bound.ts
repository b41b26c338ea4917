import { noGrad, tensor, tidy } from '@grpo/torch';
import { moments } from '../maths/moments.js';
import { type Decoder, packSegments } from '../models/index.js';

/** Largest relative error of one rounding. */
const UNIT: Readonly<Record<string, number>> = {
  float64: 2 ** -53,
  float32: 2 ** -24,
  bfloat16: 2 ** -8,
  float16: 2 ** -11,
};

/** Values that a layer rounds one after another: norms, projections, attention, activation, sums. */
const ROUNDINGS = 10;

/** Root mean squares of the errors that the bound allows. */
const TIMES = 4;

/** Whether the bound is known for a number type. */
export const isKnownDtype = (dtype: string): boolean => dtype in UNIT;

/**
 * Root mean square distance, in nats, that rounding explains between the log-probs of some tokens by two right engines.
 *
 * A rounding is off by u; a product of D terms, added up in float32, by √D of float32's u besides. After n independent
 * ones the hidden states are off by √n of that, and logits by as much of their spread σ over the vocabulary. A log-prob is
 * the difference of a logit and the mean of the others, and each engine has errors of its own: √2 and √2. Logits may be
 * rounded themselves, by u of their size; log-probs are, in float32.
 *
 * @param ids - a text of the kind that is compared: it has the spread of the logits
 * @param dtypes - of both engines; the coarser one counts
 */
export function roundingBound(decoder: Decoder, ids: readonly number[], dtypes: readonly string[]): number {
  const { layers, hiddenSize, vocabSize } = decoder.config;
  const unit = Math.max(...dtypes.map((dtype) => UNIT[dtype]!));
  const once = Math.hypot(unit, UNIT.float32! * Math.sqrt(hiddenSize));
  const { spread, size } = logitsOf(decoder, ids);
  const hidden = once * Math.sqrt(ROUNDINGS * layers) * spread;
  return TIMES * 2 * Math.hypot(hidden, unit * size, UNIT.float32! * (size + Math.log(vocabSize)));
}

/** Root mean squares of the logits: about their mean over the vocabulary, and about 0. */
function logitsOf(decoder: Decoder, ids: readonly number[]): { spread: number; size: number } {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], decoder.config, decoder.device);
      const hidden_LD = decoder.hidden(packed, packed.attend);
      const last = tensor([ids.length - 1], undefined, { dtype: 'int64', device: decoder.device });
      const logits_V = decoder.logits(hidden_LD.indexSelect(0, last)).to('float32').flatten();
      const { mean, deviation } = moments(logits_V.toTypedArray() as Float32Array, 0);
      return { spread: deviation, size: Math.hypot(mean, deviation) };
    }),
  );
}
