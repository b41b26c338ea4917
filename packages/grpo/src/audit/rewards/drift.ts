import { isDeepStrictEqual } from 'node:util';
import { recordable } from '../../formats/json.js';
import { largest, smallest } from '../../maths/moments.js';
import { isJudge, type Reward } from '../../rewards/index.js';
import type { Trainer } from '../../step/trainer.js';
import type { Problem } from '../../tasks/task.js';
import { offsetsOf, type Probes, type StepRecord } from '../../trace/index.js';
import { type Grades, gradeAgain } from './grade-again.js';
import { boundOf } from './second-grading.js';

type Drift = NonNullable<Probes['drift']>[number];

/**
 * Grades a group of an earlier step once more by each reward that asks no server: its values must not depend on the step, or
 * on what the function has seen.
 *
 * @param first - the record of that step
 * @param problems - those that it began with
 * @returns nothing of a reward that draws at random, fails, or is no stage of ours
 */
export async function rewardDrift(
  { task, config, ownStages }: Pick<Trainer, 'task' | 'config' | 'ownStages'>,
  first: StepRecord,
  problems: readonly Problem[],
): Promise<Drift[]> {
  const { completions, rewards, prompts } = first;
  if (ownStages?.includes('score') || !completions?.texts || !completions.ids || !rewards?.totals) return [];
  const { texts, ids, lengths, prompt } = completions;
  const totals = rewards.totals;
  const isKnown = (p: number) => isDeepStrictEqual(recordable(problems[p]?.row), prompts?.rows?.[p]);
  const groups = [...new Set(prompt)].filter(isKnown).map((p) => {
    const members = [...texts.keys()].filter((b) => prompt![b] === p);
    const own = members.map((b) => totals[b]!);
    return { members, spread: largest(own) - smallest(own) };
  });
  // Rewards that differ have most to lose.
  const [chosen] = groups.sort((a, b) => b.spread - a.spread);
  if (!chosen) return [];
  const offsets = offsetsOf(lengths!);
  const batch = {
    problems,
    completions_B: texts.map((text, b) => ({ text, ids: [...ids.subarray(offsets[b]!, offsets[b + 1]!)] })),
  };
  const asked = chosen.members.map((completion) => ({ completion, problem: prompt![completion]! }));
  const drifts: Drift[] = [];
  for (const reward of task.rewards) {
    const k = rewards.names?.indexOf(reward.name) ?? -1;
    if (isJudge(reward) || k < 0 || !rewards.values) continue;
    const earned = new Map(chosen.members.map((b) => [b, rewards.values![k * totals.length + b]!]));
    const grade = () => gradeAgain(reward, batch, asked);
    const drift = await driftOf(reward, earned, grade, (value) => boundOf(config, reward, value));
    if (drift) drifts.push({ ...drift, since: first.step });
  }
  return drifts;
}

async function driftOf(
  { name }: Reward,
  earned: ReadonlyMap<number, number>,
  grade: () => Promise<Grades>,
  boundAt: (value: number) => number,
): Promise<Omit<Drift, 'since'> | undefined> {
  const apart = (a: ReadonlyMap<number, number>, b: ReadonlyMap<number, number>) =>
    [...a].flatMap(([key, value]) => {
      const distance = Math.abs(value - b.get(key)!);
      const isOff = !Object.is(value, b.get(key)) && !(distance <= boundAt(value));
      return isOff ? [{ key, distance }] : [];
    });
  const now = await grade();
  if (typeof now === 'string') return undefined;
  const changed = apart(earned, now).sort((a, b) => b.distance - a.distance);
  if (changed.length > 0) {
    // Chance is no drift.
    const again = await grade();
    if (typeof again === 'string' || apart(now, again).length > 0) return undefined;
  }
  const orNull = (value: number) => (Number.isNaN(value) ? null : value);
  const [most] = changed;
  return {
    reward: name,
    graded: earned.size,
    changed: changed.length,
    ...(most && { earned: orNull(earned.get(most.key)!), earns: orNull(now.get(most.key)!) }),
  };
}
