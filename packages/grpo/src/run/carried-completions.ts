import { noGrad, tidy } from '@grpo/torch';
import { scoreTokens } from '../objective/index.js';
import { Watch } from '../progress/watch.js';
import type { Batch } from '../step/batch.js';
import { type CarriedCompletion, carriedGroup, type Trainer } from '../step/trainer.js';

/** Completions that a checkpoint carries. */
const CARRIED = 2;

/** The shortest completions of a step, scored with the weights as they are now. */
export function carriedCompletions(
  { model, sampling, watch = new Watch() }: Pick<Trainer, 'model' | 'sampling' | 'watch'>,
  batch: Batch,
): CarriedCompletion[] {
  const { prompts, completions_B } = batch.trained;
  const chosen = [...completions_B.keys()]
    .filter((b) => completions_B[b]!.ids.length > 0)
    .sort((a, b) => completions_B[a]!.ids.length - completions_B[b]!.ids.length || a - b)
    .slice(0, CARRIED);
  const { layers } = model.decoder.config;
  const finishing = watch.finishing();
  const onLayer = (done: number) =>
    finishing.report({ stage: 'scoring for the checkpoint', done, total: layers, unit: 'layers' });
  return chosen.map((b) => {
    const prompt = prompts[batch.problemOf(b)]!.ids;
    const { ids } = completions_B[b]!;
    const region = batch.iterations[0]?.masked_B?.[b]?.region;
    const group = carriedGroup({ prompt, ids, region });
    const score = () =>
      scoreTokens(model.decoder, [group], sampling.temperature, { onLayer }).logprobs_T.toNumbers();
    return { prompt, ids, logprobs: noGrad(() => tidy(score)), ...(region && { region }) };
  });
}
