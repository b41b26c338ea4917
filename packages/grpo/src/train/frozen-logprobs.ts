import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import type { Watch } from '../progress/watch.js';
import type { Sampled } from './batch.js';
import { eachMicroBatch } from './micro-batch.js';
import type { Stopwatch } from './stopwatch.js';
import { cut } from './token-values.js';
import type { Trainer } from './trainer.js';

/** What the update compares the policy with: log-probs of the rollout's tokens, an array a completion. */
export interface FrozenLogprobs {
  /** Of the policy that sampled; undefined where the policy's own, detached, serve. */
  old_B: Float32Array[] | undefined;
  /** Of the reference; undefined without one. */
  reference_B: Float32Array[] | undefined;
}

/** Scores a rollout, before the first update, under the policies that stay as they are. */
export async function frozenLogprobs(
  trainer: Trainer,
  rollout: Sampled,
  clock: Stopwatch,
  watch?: Watch,
): Promise<FrozenLogprobs> {
  const { model, reference } = trainer;
  const all = [...rollout.prompts.keys()];
  const score = (decoder: Decoder, stage: string, prompts = all) =>
    scoreWith(decoder, trainer, rollout, prompts, { clock, stage, watch });
  const old = {
    detach: () => undefined,
    sampler: () => rollout.completions_B.map(({ logprobs }) => logprobs),
    recompute: async () => {
      const stored = storedLogprobs(rollout);
      const own = all.filter((p) => !rollout.exchange?.replayed.has(p));
      const scored = await score(model.decoder, 'old', own);
      return rollout.completions_B.map((_, b) => stored.get(b) ?? scored[b]!);
    },
  };
  return {
    old_B: await old[trainer.config.objective.oldLogprobs](),
    reference_B: reference && (await score(reference, 'reference')),
  };
}

/** Log-probs of replayed completions, by their place, as of the step that sampled them. */
function storedLogprobs({ exchange, completions_B, prompts }: Sampled): Map<number, Float32Array> {
  const group = completions_B.length / prompts.length;
  return new Map(
    [...(exchange?.replayed ?? [])].flatMap(
      ([
        p,
        {
          old,
          group: { completions_B: own },
        },
      ]) => own.map(({ logprobs }, g) => [p * group + g, old?.[g] ?? logprobs] as const),
    ),
  );
}

/** Log-probs of some prompts' completions under a decoder, by their place, without gradients. */
async function scoreWith(
  decoder: Decoder,
  { stages, model, config, sampling }: Trainer,
  rollout: Sampled,
  prompts: readonly number[],
  { clock, ...work }: { clock: Stopwatch; stage: string; watch: Watch | undefined },
): Promise<Float32Array[]> {
  const logprobs_B: Float32Array[] = [];
  const { trained } = rollout;
  const limits = { tokens: config.train.microBatchTokens, ...work };
  await eachMicroBatch(model.decoder, trained, prompts, limits, ({ groups, members }, tell) => {
    const onLayer = (layer: number) => tell(layer / decoder.config.layers);
    const values = clock.time(work.stage, () =>
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
    for (const [i, own] of cut(values, lengths).entries()) logprobs_B[members[i]!] = own;
  });
  return logprobs_B;
}
