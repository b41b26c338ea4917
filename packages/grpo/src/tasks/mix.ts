/** Several tasks as one: every batch has problems of each, in fixed shares. */
import { UserError } from '../errors/user-error.js';
import { isObject } from '../formats/json.js';
import { isPartialFailure, isPerCompletion, markPerCompletion, PartialFailure } from '../rewards/each.js';
import type { Reward, RewardBatch, RewardFunction, RewardValue } from '../rewards/reward.js';
import { sharedWith } from './hold-out.js';
import type { Problem, Task } from './task.js';

/** A row of a mixture: the row of its task, and the name of the task. */
export type MixedRow = Record<string, unknown> & { task: string };

/**
 * Makes one task of several. Each row gets the name of its task as `task`, each reward judges the completions of its own
 * task and has no opinion on the others. Held-out problems take turns; none of them is trained on, whatever task it is of.
 *
 * @param parts - with the share of each in a batch; the shares count relative to each other
 * @throws UserError when two tasks have one name, a row has a `task` of its own, completions end differently, or a task has
 * nothing to train on that no other holds out
 */
export function mixedTask(parts: readonly { task: Task; share: number }[]): Task<MixedRow> {
  const tasks = new Map(parts.map(({ task }) => [task.name, task]));
  if (tasks.size < parts.length) {
    throw new UserError(`two tasks of the mixture have one name: ${parts.map(({ task }) => task.name)}`, {
      hint: 'Join their files to one task.',
    });
  }
  const all = [...tasks.values()];
  const [first] = all;
  if (all.some(({ stop }) => `${stop}` !== `${first!.stop}`)) {
    const each = all.map(
      ({ name, stop }) => `${name} at ${stop.length > 0 ? JSON.stringify(stop) : 'no string'}`,
    );
    throw new UserError(`completions of the mixture end differently: ${each.join(', ')}`, {
      hint: 'Mix tasks with the same stop strings.',
    });
  }
  const names = all.flatMap(({ rewards }) => rewards.map(({ name }) => name));
  const areUnique = new Set(names).size === names.length;
  const isCorrect = (completion: string, row: MixedRow) => tasks.get(row.task)!.isCorrect!(completion, row);
  const held = all.flatMap((task) => task.eval);
  return {
    name: 'mix',
    train: all.flatMap((task) => trainedOf(task, held).map((problem) => marked(problem, task.name))),
    eval: inTurn(all.map((task) => task.eval.map((problem) => marked(problem, task.name)))),
    rewards: all.flatMap((task) =>
      task.rewards.map((reward) =>
        ofTask(task.name, areUnique ? reward : { ...reward, name: `${task.name}/${reward.name}` }, reward),
      ),
    ),
    ...(all.every((task) => task.isCorrect) && { isCorrect }),
    canaries: (problem) => tasks.get(problem.row.task)!.canaries?.(problem) ?? {},
    stop: first!.stop,
    shares: Object.fromEntries(parts.map(({ task, share }) => [task.name, share])),
  };
}

/** The problems of a task that no task of the mixture holds out. */
function trainedOf({ name, train }: Task, held: readonly Problem[]): Problem[] {
  const shared = new Set(sharedWith(held, train, ({ prompt }) => JSON.stringify(prompt)));
  if (shared.size === train.length && train.length > 0) {
    throw new UserError(
      `all ${train.length} rows of ${name} ask what a held-out problem of the mixture asks`,
      {
        hint: 'Leave them out of the data, or hold fewer problems out.',
      },
    );
  }
  return train.filter((problem) => !shared.has(problem));
}

function marked({ row, ...problem }: Problem, task: string): Problem<MixedRow> {
  if (!isObject(row) || Object.hasOwn(row, 'task')) {
    throw new UserError(`a row of ${task} has a field task, where the mixture writes the name of its task`, {
      hint: 'Rename the field.',
    });
  }
  return { ...problem, row: { ...row, task } };
}

/** All items, those of each list spread evenly. */
function inTurn<Item>(lists: readonly Item[][]): Item[] {
  return lists
    .flatMap((list) => list.map((item, i) => ({ item, place: (i + 0.5) / list.length })))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}

/** A reward of one task among rows of all. */
function ofTask(task: string, named: Pick<Reward, 'name' | 'weight'>, reward: Reward): Reward<MixedRow> {
  const score: RewardFunction<MixedRow> = async (batch) => {
    const places = batch.rows.flatMap((row, b) => (row.task === task ? [b] : []));
    const spread = (values: readonly RewardValue[]): RewardValue[] => {
      const all = batch.rows.map((): RewardValue => null);
      for (const [i, b] of places.entries()) all[b] = values[i]!;
      return all;
    };
    if (places.length === 0) return spread([]);
    try {
      const values = await reward.score(partOf(batch, places));
      // Their number is judged by who called.
      return values.length === places.length ? spread(values) : values;
    } catch (error) {
      if (!isPartialFailure(error)) throw error;
      const failures = error.failures.map(({ index, reason }) => ({ index: places[index]!, reason }));
      throw new PartialFailure(spread(error.values as RewardValue[]), failures);
    }
  };
  const isSingle = isPerCompletion(reward.score);
  return { name: named.name, weight: named.weight, score: isSingle ? markPerCompletion(score) : score };
}

function partOf(batch: RewardBatch<MixedRow>, places: readonly number[]): RewardBatch<MixedRow> {
  const pick = <V>(values: readonly V[]): V[] => places.map((b) => values[b]!);
  const { prompts, completions, completionIds, rows } = batch;
  return {
    prompts: pick(prompts),
    completions: pick(completions),
    ...(completionIds && { completionIds: pick(completionIds) }),
    rows: pick(rows),
  };
}
