import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import type { Batch, Iteration } from './batch.js';
import { eachMicroBatch, type Groups, tokensOf } from './micro-batch.js';
import type { StepEvents } from './observer.js';
import { SharedWork } from './peers/shared-work.js';
import { cut } from './token-values.js';
import type { Trainer } from './trainer.js';

/** Scores a batch, before the first update, under the policies that stay as they are: the old one and the reference. */
export async function scoreFrozen(trainer: Trainer, batch: Batch, events: StepEvents): Promise<void> {
  for (const iteration of new Set(batch.iterations)) await scoreIteration(trainer, batch, iteration, events);
}

async function scoreIteration(
  trainer: Trainer,
  batch: Batch,
  iteration: Iteration,
  events: StepEvents,
): Promise<void> {
  const { model, reference, config } = trainer;
  const all = [...batch.problems.keys()];
  const groups = batch.groupsIn(iteration);
  const score = (decoder: Decoder, stage: string, prompts = all) =>
    scoreUnder(decoder, trainer, groups, { prompts, stage, events });
  const old = {
    detach: () => undefined,
    sampler: () => batch.behaviorLogprobs_B,
    recompute: async () => {
      const stored = storedLogprobs(batch);
      const fresh = all.filter((p) => !batch.exchange?.replayed.has(p));
      const scored = await score(model.decoder, 'old', fresh);
      return batch.completions_B.map((_, b) => stored.get(b) ?? scored[b]!);
    },
  };
  iteration.old_B = await old[config.objective.oldLogprobs]();
  iteration.reference_B = reference && (await score(reference, 'reference'));
}

/** Log-probs of replayed completions, by their place, as of the step that sampled them. */
function storedLogprobs({ exchange, groupSize }: Batch): Map<number, Float32Array> {
  const replayed = [...(exchange?.replayed ?? [])];
  return new Map(
    replayed.flatMap(([p, { old, group }]) =>
      group.behaviorLogprobs_B.map((logprobs, g) => [p * groupSize + g, old?.[g] ?? logprobs] as const),
    ),
  );
}

/** Log-probs of some prompts' completions under a decoder, by their place, without gradients. */
async function scoreUnder(
  decoder: Decoder,
  trainer: Trainer,
  trained: Groups,
  { prompts, stage, events }: { prompts: readonly number[]; stage: string; events: StepEvents },
): Promise<Float32Array[]> {
  const { stages, model, config, sampling, watch } = trainer;
  const limits = { tokens: config.train.microBatchTokens, stage, watch };
  const scoreOwn = async (own: readonly number[]) => {
    const logprobs: (readonly [number, Float32Array])[] = [];
    await eachMicroBatch(model.decoder, trained, own, limits, ({ groups, members }, tell) => {
      const onLayer = (layer: number) => tell(layer / decoder.config.layers);
      const values = events.stage(stage, () =>
        noGrad(() =>
          tidy(
            () =>
              stages
                .logprob(decoder, groups, sampling.temperature, { onLayer })
                .logprobs_T.toTypedArray() as Float32Array,
          ),
        ),
      );
      const lengths = members.map((b) => trained.completions_B[b]!.ids.length);
      for (const [i, row] of cut(values, lengths).entries()) logprobs.push([members[i]!, row]);
    });
    return logprobs;
  };
  const work = new SharedWork(trainer, events);
  const scored = await work.share(prompts, (p) => tokensOf(trained, p), scoreOwn);
  const logprobs_B: Float32Array[] = [];
  for (const [b, row] of scored.flat()) logprobs_B[b] = row;
  return logprobs_B;
}
