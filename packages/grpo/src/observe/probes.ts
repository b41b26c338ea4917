import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { compare, repeatBound, toleranceOf } from '../doctor/tolerance.js';
import { chunkRows } from '../memory/pass-bytes.js';
import { type Decoder, packSegments } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import type { Difference, Probes } from '../trace/index.js';
import type { UpdateTrace } from './update-trace.js';

/** Whether the first update of a step is to be probed; or only where trainer and sampler disagree on the completion. */
export type ProbeScoring = boolean | 'where they differ';

/** Tried when trainer and sampler disagree, beside the declared one and its square. */
const TEMPERATURES = [0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5];

/**
 * Scores one completion of the first update once more, by itself, with the weights that it was sampled from; twice where
 * that differs from the batch. Draws nothing at random and changes nothing.
 *
 * @param trace - the completions of the update, with their log-probs
 */
export function scoringProbes(
  trainer: Trainer,
  batch: Batch,
  trace: Pick<UpdateTrace, 'members' | 'policyOf'>,
  which: ProbeScoring,
): Probes {
  const chosen = probedCompletion(batch, trace.members);
  if (chosen === undefined) return {};
  const masked = batch.iterations[0]!.masked_B?.[chosen];
  const { stages, model, sampling, config } = trainer;
  const prompt = batch.trained.prompts[batch.problemOf(chosen)]!.ids;
  const { ids } = batch.trained.completions_B[chosen]!;
  const total = model.decoder.config.layers;
  const onLayer = (done: number) => trainer.watch?.report({ stage: 'probes', done, total, unit: 'layers' });
  const alone = () =>
    frozen(
      () =>
        stages.logprob(
          model.decoder,
          [{ prompt, completions: [ids], ...(masked && { masked: [masked] }) }],
          sampling.temperature,
          { onLayer },
        ).logprobs_T,
    );
  const policy = trace.policyOf(chosen);
  const sampler = batch.completions_B[chosen]!.logprobs;
  const gap = difference(policy, sampler);
  const precision = { declared: { dtype: config.dtype } };
  const alike = repeatBound(precision);
  // An estimate need not be what the sampler drew from.
  const agree = masked !== undefined || gap.tokens === 0 || gap.mean <= toleranceOf(precision).mean;
  // Dropout and neighbours would set them apart too.
  if (which === 'where they differ' && agree && (masked || gap.max <= alike)) return {};
  const once = alone();
  const aloneInBatch = difference(once, policy);
  // Where the two agree, chance has no part in it, and a third scoring would tell nothing.
  const repeatedScoring = aloneInBatch.max <= alike ? aloneInBatch : difference(once, alone());
  const probes: Probes = { repeatedScoring, aloneInBatch };
  if (agree) return probes;
  const own = sampling.temperature || 1;
  const plainScoring = plainly(
    model.decoder,
    prompt,
    ids,
    [...new Set([own, own * own, ...TEMPERATURES])],
    own,
  ).map(({ logprobs, ...setting }) => ({
    ...setting,
    policy: difference(logprobs, policy),
    sampler: difference(logprobs, sampler),
  }));
  return { ...probes, plainScoring };
}

/** The last completion of the shortest prompt: it has the most neighbours before it, and would be padded most. */
function probedCompletion(batch: Batch, members: readonly number[]): number | undefined {
  const { trained, exchange } = batch;
  let [best, shortest]: [number | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
  for (const b of members) {
    const prompt = batch.problemOf(b);
    // What an earlier policy sampled differs by right.
    if (exchange?.replayed.has(prompt)) continue;
    const { length } = trained.prompts[prompt]!.ids;
    if (length <= shortest && trained.completions_B[b]!.ids.length > 0) [best, shortest] = [b, length];
  }
  return best;
}

/** Log-probs of a completion from one plain pass over prompt and completion, under each setting. */
function plainly(
  decoder: Decoder,
  prompt: readonly number[],
  ids: readonly number[],
  temperatures: readonly number[],
  own: number,
): { temperature: number; shift: number; logprobs: Float32Array }[] {
  return noGrad(() =>
    tidy(() => {
      const { device, config } = decoder;
      const packed = packSegments([{ ids: [...prompt, ...ids] }], config, device);
      const hidden_LD = decoder.hidden(packed, packed.attend);
      const index = (values: readonly number[]) => tensor(values, undefined, { dtype: 'int64', device });
      // The row before the completion's first token predicts it; a shift never leaves the first row to the left.
      const rowOf = (t: number, shift: number) => Math.max(0, prompt.length - 1 + t + shift);
      const read = (shift: number, tried: readonly number[]) => {
        const settings = tried.map((temperature) => ({
          temperature,
          shift,
          logprobs: new Float32Array(ids.length),
        }));
        const size = chunkRows(config.vocabSize);
        for (let first = 0; first < ids.length; first += size) {
          tidy(() => {
            const chunk = ids.slice(first, first + size);
            const rows = chunk.map((_, i) => rowOf(first + i, shift));
            const logits_TV = decoder.logits(hidden_LD.indexSelect(0, index(rows)));
            const targets_T = index(chunk).unsqueeze(1);
            for (const { temperature, logprobs } of settings)
              logprobs.set(
                tidy(() =>
                  logits_TV.div(temperature).logSoftmax(-1).gather(1, targets_T).squeeze(1).toTypedArray(),
                ) as Float32Array,
                first,
              );
          });
        }
        return settings;
      };
      return [...read(0, temperatures), ...read(1, [own]), ...read(-1, [own])];
    }),
  );
}

const frozen = (score: () => Tensor): Float32Array =>
  noGrad(() => tidy(() => Float32Array.from(score().toTypedArray() as Float32Array)));

/** NaN where there is nothing to compare, or a log-prob is no number. */
function difference(a: Float32Array, b: Float32Array): Difference {
  const { mean, max, tokens } = compare([a], [b]);
  return { mean, max, tokens };
}
