import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { compare, repeatBound, toleranceOf } from '../doctor/tolerance.js';
import type { TokenSets } from '../formats/token-sets.js';
import { chunkRows } from '../memory/pass-bytes.js';
import { type Decoder, packSegments } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import { supportOf } from '../step/micro-batch.js';
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
  const precision = { declared: { dtype: trainer.config.dtype } };
  const chosen = probedCompletion(batch, trace.members, (b) => {
    const { mean } = difference(trace.policyOf(b), batch.behaviorLogprobs_B[b]!);
    return mean > toleranceOf(precision).mean ? mean : 0;
  });
  if (chosen === undefined) return {};
  const masked = batch.iterations[0]!.masked_B?.[chosen];
  const { stages, model, sampling } = trainer;
  const prompt = batch.trained.prompts[batch.problemOf(chosen)]!.ids;
  const scored = batch.trained.completions_B[chosen]!;
  const { ids } = scored;
  const total = model.decoder.config.layers;
  const onLayer = (done: number) => trainer.watch?.report({ stage: 'probes', done, total, unit: 'layers' });
  const alone = () =>
    frozen(
      () =>
        stages.logprob(
          model.decoder,
          [{ prompt, completions: [ids], ...supportOf([scored]), ...(masked && { masked: [masked] }) }],
          sampling.temperature,
          { onLayer },
        ).logprobs_T,
    );
  const policy = trace.policyOf(chosen);
  const sampler = batch.behaviorLogprobs_B[chosen]!;
  const gap = difference(policy, sampler);
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
  const plainScoring = plainly(model.decoder, { prompt, ids, support: scored.support }, own).map(
    ({ logprobs, ...setting }) => ({
      ...setting,
      policy: difference(logprobs, policy),
      sampler: difference(logprobs, sampler),
    }),
  );
  return { ...probes, plainScoring };
}

/**
 * The completion on which trainer and sampler disagree most. Where they agree on all, the last one of the shortest prompt: it
 * has the most neighbours before it, and would be padded most.
 *
 * @param disagreement - 0 where they agree
 */
function probedCompletion(
  batch: Batch,
  members: readonly number[],
  disagreement: (completion: number) => number,
): number | undefined {
  const { trained, exchange, iterations } = batch;
  const judged = members.filter(
    // What an earlier policy sampled differs by right.
    (b) => !exchange?.replayed.has(batch.problemOf(b)) && trained.completions_B[b]!.ids.length > 0,
  );
  const isEstimated = iterations[0]!.masked_B !== undefined;
  const apart = judged.map((b) => (isEstimated ? 0 : disagreement(b)));
  const most = Math.max(...apart);
  if (most > 0) return judged[apart.indexOf(most)];
  const lengthOf = (b: number) => trained.prompts[batch.problemOf(b)]!.ids.length;
  const shortest = Math.min(...judged.map(lengthOf));
  return judged.findLast((b) => lengthOf(b) === shortest);
}

/** A completion that is scored plainly. */
interface PlainCompletion {
  prompt: readonly number[];
  ids: readonly number[];
  support: TokenSets | undefined;
}

type Setting = Omit<NonNullable<Probes['plainScoring']>[number], 'policy' | 'sampler'>;

/** Ids in whose place those of a token's own support belong. */
const OTHER_SUPPORTS = ['whole', 'before', 'after'] as const;

/** Log-probs of a completion from one plain pass over prompt and completion, under each setting. */
function plainly(
  decoder: Decoder,
  completion: PlainCompletion,
  own: number,
): (Setting & { logprobs: Float32Array })[] {
  const { prompt, ids, support } = completion;
  const temperatures = [...new Set([own, own * own, ...TEMPERATURES])];
  return noGrad(() =>
    tidy(() => {
      const { device, config } = decoder;
      const packed = packSegments([{ ids: [...prompt, ...ids] }], config, device);
      const hidden_LD = decoder.hidden(packed, packed.attend);
      const index = (values: readonly number[]) => tensor(values, undefined, { dtype: 'int64', device });
      // The row before the completion's first token predicts it; a shift never leaves the first row to the left.
      const rowOf = (t: number, shift: number) => Math.max(0, prompt.length - 1 + t + shift);
      const read = (settings: readonly Setting[]) => {
        const { shift, support: from } = settings[0]!;
        const scored = settings.map((setting) => ({ ...setting, logprobs: new Float32Array(ids.length) }));
        const size = chunkRows(config.vocabSize);
        for (let first = 0; first < ids.length; first += size) {
          tidy(() => {
            const places = ids.slice(first, first + size).map((_, i) => first + i);
            const rows = places.map((t) => rowOf(t, shift));
            const all_TV = decoder.logits(hidden_LD.indexSelect(0, index(rows)));
            const kept = places.map((t) => idsFor(completion, t, from));
            const logits_TV = kept.includes(undefined) ? all_TV : restricted(all_TV, kept as number[][]);
            const targets_T = index(places.map((t) => ids[t]!)).unsqueeze(1);
            for (const { temperature, logprobs } of scored)
              logprobs.set(
                tidy(() =>
                  logits_TV.div(temperature).logSoftmax(-1).gather(1, targets_T).squeeze(1).toTypedArray(),
                ) as Float32Array,
                first,
              );
          });
        }
        return scored;
      };
      return [
        ...read(temperatures.map((temperature) => ({ temperature, shift: 0 }))),
        ...read([{ temperature: own, shift: 1 }]),
        ...read([{ temperature: own, shift: -1 }]),
        ...(support
          ? OTHER_SUPPORTS.flatMap((other) => read([{ temperature: own, shift: 0, support: other }]))
          : []),
      ];
    }),
  );
}

/** The ids over which a token is scored; undefined for all. */
function idsFor(
  { ids, support }: PlainCompletion,
  t: number,
  from: Setting['support'],
): number[] | undefined {
  if (!support || from === 'whole') return undefined;
  if (from === undefined) return [...support.ids(t)];
  const other = from === 'before' ? Math.max(0, t - 1) : Math.min(ids.length - 1, t + 1);
  // What was drawn has a log-prob, whatever it is scored over.
  return [...new Set([...support.ids(other), ids[t]!])];
}

/** Logits of the ids of each row; of others −∞. */
function restricted(logits_TV: Tensor, kept: readonly (readonly number[])[]): Tensor {
  const width = logits_TV.size(1);
  const places = kept.flatMap((ids, row) => ids.map((id) => row * width + id));
  const index = tensor(places, undefined, { dtype: 'int64', device: logits_TV.device });
  const flat = logits_TV.flatten();
  return flat
    .zerosLike()
    .sub(Number.POSITIVE_INFINITY)
    .indexCopy_(0, index, flat.indexSelect(0, index))
    .view([kept.length, width]);
}

const frozen = (score: () => Tensor): Float32Array =>
  noGrad(() => tidy(() => Float32Array.from(score().toTypedArray() as Float32Array)));

/** NaN where there is nothing to compare, or a log-prob is no number. */
function difference(a: Float32Array, b: Float32Array): Difference {
  const { mean, max, tokens } = compare([a], [b]);
  return { mean, max, tokens };
}
