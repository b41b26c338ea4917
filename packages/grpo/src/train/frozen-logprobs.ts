import { noGrad, tidy } from '@grpo/torch';
import type { Decoder } from '../models/index.js';
import { eachMicroBatch } from './micro-batch.js';
import type { Rollout } from './roll-out.js';
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
  rollout: Rollout,
  clock: Stopwatch,
): Promise<FrozenLogprobs> {
  const { model, reference } = trainer;
  const score = (decoder: Decoder, stage: string) => scoreWith(decoder, trainer, rollout, clock, stage);
  const old = {
    detach: () => undefined,
    sampler: () => rollout.completions_B.map(({ logprobs }) => logprobs),
    recompute: () => score(model.decoder, 'old'),
  };
  return {
    old_B: await old[trainer.config.objective.oldLogprobs](),
    reference_B: reference && (await score(reference, 'reference')),
  };
}

/** Log-probs of all completions under a decoder, without gradients. */
async function scoreWith(
  decoder: Decoder,
  { stages, model, config, sampling }: Trainer,
  rollout: Rollout,
  clock: Stopwatch,
  stage: string,
): Promise<Float32Array[]> {
  const logprobs_B: Float32Array[] = [];
  const { trained } = rollout;
  const all = [...trained.prompts.keys()];
  await eachMicroBatch(model.decoder, trained, all, config.train.microBatchTokens, ({ groups, members }) => {
    const values = clock.time(stage, () =>
      noGrad(() =>
        tidy(
          () =>
            stages.logprob(decoder, groups, sampling.temperature).logprobs_T.toTypedArray() as Float32Array,
        ),
      ),
    );
    const lengths = members.map((b) => trained.completions_B[b]!.ids.length);
    for (const [i, own] of cut(values, lengths).entries()) logprobs_B[members[i]!] = own;
  });
  return logprobs_B;
}
