import { UserError } from '../errors/user-error.js';
import { TokenSets } from '../formats/token-sets.js';
import { Watch } from '../progress/watch.js';
import { joinTables, withOverlong } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem } from '../tasks/task.js';
import { Batch } from './batch.js';
import { exchangeFlat } from './exchange.js';
import { iterationsOf } from './iterations.js';
import type { StepEvents } from './observer.js';
import { SharedWork } from './peers/shared-work.js';
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
  if (config.onRewardError === 'stop') requireReward(firstBatch, step);
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
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  place: number,
  events: StepEvents,
): Promise<Batch> {
  const { stages, model, task, config, sampling, watch = new Watch() } = trainer;
  const { rollout, groups: settings, onRewardError, seed } = config;
  const work = new SharedWork(trainer, events);
  const prompts = events.stage('render', () => stages.render(model, problems));
  const requests = prompts.map(({ ids }, p) => ({ ids, count: rollout.group, keys: [step, place + p] }));
  const sampled = await events.stage('sample', () =>
    work.share(requests, equally, (own) => stages.sample(model, own, sampling, seed, watch)),
  );
  const groups = sampled.flat().map((group) => group.map(received));
  const completions_B = groups.flat();
  const scored = await events.stage('score', async () => {
    const tables = await work.share([...groups.keys()], equally, (own) => {
      const [ownProblems, ownGroups] = [own.map((p) => problems[p]!), own.map((p) => groups[p]!)];
      const scoring = { stage: 'scoring', done: 0, total: ownGroups.flat().length, unit: 'completions' };
      return watch.until(scoring, () => stages.score(task, ownProblems, ownGroups, onRewardError));
    });
    return joinTables(tables);
  });
  const lengths = completions_B.map(({ ids }) => ids.length);
  const buffer = settings.overlongBuffer;
  const rewardTable =
    buffer === 0 ? scored : withOverlong(scored, lengths, { maxTokens: rollout.maxNewTokens, buffer });
  return new Batch({ problems, prompts, completions_B, rewardTable });
}

/** A reward may have no opinion of a completion, but not all rewards of all completions. */
function requireReward({ rewards_B, rewardTable }: Batch, step: number): void {
  const weighed = rewardTable.names.filter((_, k) => rewardTable.weights[k] !== 0);
  if (weighed.length === 0 || !rewards_B.every(Number.isNaN)) return;
  throw new UserError(
    `step ${step + 1}: none of ${rewards_B.length} completions has a reward: ${weighed.join(', ')} returned null for all`,
    {
      hint: 'Null is no opinion. Return a number where there is one, or set onRewardError=drop to go on without.',
    },
  );
}

/** A completion of another process: messages have the bytes of its support alone. */
function received(completion: Completion): Completion {
  const { support } = completion;
  if (!support || support instanceof TokenSets) return completion;
  const { lengths, data } = support as Pick<TokenSets, 'lengths' | 'data'>;
  return { ...completion, support: TokenSets.fromBytes(lengths, data) };
}

/** No group's completions are known to be longer than another's before they are sampled. */
const equally = () => 1;
