import { rewardName } from '../../config/reward-kinds.js';
import { isJudge, type Reward } from '../../rewards/index.js';
import type { Comparison } from '../../trace/index.js';
import type { AuditContext, Measured } from '../context.js';
import { isOfEarlierRun, problemOf } from '../places.js';
import { worstOf } from '../worst.js';
import type { Explained } from './pairing.js';
import { compareGradings, ROUNDING } from './second-grading.js';

/**
 * Completion → reward: the groups of the chosen completions are graded once more, the last first, by each of the task's
 * rewards but those that ask a server. What differs is looked into with the whole batch.
 */
export async function auditRewards(context: AuditContext): Promise<Measured> {
  const { trainer } = context;
  const { task, ownStages } = trainer;
  if (ownStages?.includes('score'))
    return { handOver: 'reward', missing: 'the standard stage score: yours rewards as it likes' };
  const comparisons = [...compareWeights(context), ...compareOverlong(context)];
  const missing: string[] = [];
  for (const [k, reward] of task.rewards.entries()) {
    const outcome = isJudge(reward)
      ? { missing: `a reward that asks no server: ${reward.name} is not asked again` }
      : await compareGrades(context, reward, k);
    if ('missing' in outcome) missing.push(outcome.missing);
    else comparisons.push(...outcome.comparisons);
  }
  const lack = { handOver: 'reward', missing: missing.join('; ') } as const;
  return { comparisons, ...(missing.length > 0 && lack) };
}

/** The values of one reward beside those of a second grading. */
async function compareGrades(
  { trainer, batch, chosen }: AuditContext,
  reward: Reward,
  k: number,
): Promise<Explained> {
  const { config } = trainer;
  const { columns, failures } = batch.rewardTable;
  const recorded = columns[k]!;
  const ownOf = (b: number) => problemOf(batch, b);
  const prompts = chosen.map(ownOf).filter((p) => !isOfEarlierRun(trainer, batch, p));
  const members = [...recorded.keys()].filter((b) => prompts.includes(ownOf(b)));
  const failed = failures.filter((failure) => failure.reward === reward.name);
  if (members.length === 0 || failed.length > 0)
    return {
      missing: `values of the reward ${reward.name} without a failure, of groups that this run sampled`,
    };
  const gradedAgain = () => gradedByStage({ trainer, batch }, reward);
  return await compareGradings({ config, batch, reward, recorded, members, gradedAgain });
}

/** What the step's own stage gives when it is asked again, for one reward. */
async function gradedByStage({ trainer, batch }: Pick<AuditContext, 'trainer' | 'batch'>, reward: Reward) {
  const { problems, completions_B, groupSize } = batch;
  const groups = problems.map((_, p) => completions_B.slice(p * groupSize, (p + 1) * groupSize));
  const task = { ...trainer.task, rewards: [reward] };
  const { columns } = await trainer.stages.score(task, problems, groups, 'drop');
  return columns[0];
}

/** The weights of what is compared are those of the settings, or of the task; punishments have their own. */
function compareWeights({ trainer, batch }: AuditContext): Comparison[] {
  const { task, config } = trainer;
  const { names, weights } = batch.compared;
  const declared = task.rewards.map(({ name, weight }) => ({
    name,
    plain: config.rewards.find((entry) => rewardName(entry) === name)?.weight ?? weight,
  }));
  const added = [
    ...(config.groups.overlongBuffer > 0 ? [{ name: 'overlong', plain: 1 }] : []),
    ...(config.kl.place === 'reward' ? [{ name: 'kl_penalty', plain: -1 }] : []),
  ];
  return [
    ...declared.map((one) => ({ ...one, place: names.indexOf(one.name) })),
    // A reward of the task may have the same name: that of a punishment stands behind it.
    ...added.map((one) => ({ ...one, place: names.lastIndexOf(one.name) })),
  ].flatMap(({ name, plain, place }) =>
    worstOf('reward', `weight of the reward ${name}`, [
      { found: weights[place] ?? Number.NaN, plain, bound: 0 },
    ]),
  );
}

/** DAPO's soft punishment of long completions (Yu et al., 2025, eq. 13). */
function compareOverlong({ trainer, batch }: AuditContext): Comparison[] {
  const { overlongBuffer: buffer } = trainer.config.groups;
  const { maxNewTokens } = trainer.config.rollout;
  if (buffer === 0) return [];
  const { names, columns } = batch.rewardTable;
  const column = columns[names.lastIndexOf('overlong')];
  const pairs = batch.completions_B.flatMap(({ ids }, completion) => {
    if (isOfEarlierRun(trainer, batch, problemOf(batch, completion))) return [];
    const into = (ids.length - maxNewTokens + buffer) / buffer;
    const plain = -Math.min(1, Math.max(0, into));
    return [{ found: column?.[completion] ?? Number.NaN, plain, bound: ROUNDING, completion }];
  });
  return worstOf('reward', 'punishment of long completions', pairs);
}
