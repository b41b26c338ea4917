import { Watch } from '../progress/watch.js';
import { withOverlong } from '../rewards/index.js';
import type { Problem } from '../tasks/task.js';
import { Batch } from './batch.js';
import { exchangeFlat } from './exchange.js';
import { iterationsOf } from './iterations.js';
import type { StepEvents } from './observer.js';
import type { Trainer } from './trainer.js';

/** Everything before the comparison: render, sample and score, and replace groups without a difference. */
export async function rollOut(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  events: StepEvents,
): Promise<Batch> {
  const { stages, model, config } = trainer;
  const { refills, replay } = config.groups;
  const draw = (wanted: readonly Problem[], place: number) =>
    drawGroups(trainer, wanted, step, place, events);
  const firstBatch = await draw(problems, 0);
  const batch = refills > 0 || replay > 0 ? await exchangeFlat(trainer, firstBatch, step, draw) : firstBatch;
  batch.trained = stages.assemble(model, batch.trained);
  batch.iterations = iterationsOf(trainer, batch, step);
  return batch;
}

/**
 * Samples and scores a group of each problem.
 *
 * @param place - of the first among all groups of the step: no two draw alike
 */
async function drawGroups(
  { stages, model, task, config, sampling, watch = new Watch() }: Trainer,
  problems: readonly Problem[],
  step: number,
  place: number,
  events: StepEvents,
): Promise<Batch> {
  const { rollout, groups: settings, onRewardError, seed } = config;
  const prompts = events.stage('render', () => stages.render(model, problems));
  const requests = prompts.map(({ ids }, p) => ({ ids, count: rollout.group, keys: [step, place + p] }));
  const groups = await events.stage('sample', () => stages.sample(model, requests, sampling, seed, watch));
  const completions_B = groups.flat();
  const scoring = { stage: 'scoring', done: 0, total: completions_B.length, unit: 'completions' };
  const scored = await events.stage('score', () =>
    watch.until(scoring, () => stages.score(task, problems, groups, onRewardError)),
  );
  const lengths = completions_B.map(({ ids }) => ids.length);
  const buffer = settings.overlongBuffer;
  const rewardTable =
    buffer === 0 ? scored : withOverlong(scored, lengths, { maxTokens: rollout.maxNewTokens, buffer });
  return new Batch({ problems, prompts, completions_B, rewardTable });
}
