/**
 * Scores a batch with every reward function. A failure is reported and leaves NaN in the table; no number ever
 * stands for it, since a made-up reward is a made-up advantage for the whole group.
 */
import type { OnRewardError } from '../config/choices.js';
import { counted } from '../errors/counted.js';
import { describeError, Reason } from './describe-error.js';
import { isPartialFailure, isPerCompletion } from './each.js';
import { failureOf, RewardError, type RewardFailure } from './failure.js';
import { judgedBy } from './grounds.js';
import { readValue, show } from './read-value.js';
import type { Reward, RewardBatch } from './reward.js';
import type { Grounds, RewardTable } from './reward-table.js';
import { scoreSingly } from './score-singly.js';
import { answerOf, UserCodeGuard } from './user-code/user-code.js';

export interface ScoreOptions {
  /** `stop` throws at any failure; `drop` leaves the completions concerned without a total. */
  onError: OnRewardError;
}

/** Rewards of the batch by one reward function. */
interface Column {
  values: Float64Array;
  grounds: (Grounds | null)[];
  /** Completions that it failed on. */
  failed: number[];
  failures: RewardFailure[];
}

/**
 * Runs all reward functions on the batch, concurrently.
 *
 * A function that fails as a whole (an exception, a wrong length, a time-out) is asked again with one completion
 * at a time to find the one to blame. Its values from a part of the batch are used only when it was made by
 * `each`; otherwise the whole batch has no value from it.
 *
 * @throws RewardError with every failure, if there is one and `onError` is `stop`; UserError when an error comes up that
 * nobody waits for, whatever `onError` is: it belongs to no completion
 */
export async function scoreCompletions<Row>(
  rewards: readonly Reward<Row>[],
  batch: RewardBatch<Row>,
  { onError }: ScoreOptions,
): Promise<RewardTable> {
  const count = batch.completions.length;
  if (batch.prompts.length !== count || batch.rows.length !== count) {
    throw new RangeError(
      `a batch needs one prompt and one row per completion, got ${batch.prompts.length} prompts, ${batch.rows.length} rows and ${count} completions`,
    );
  }
  const ids = batch.completionIds?.length ?? count;
  if (ids !== count) throw new RangeError(`got the ids of ${ids} completions for ${count} completions`);
  using guard = new UserCodeGuard();
  const timed = await guard.during(() => Promise.all(timedColumns(rewards, batch)));
  const columns = timed.map(({ column }) => column);
  const failures = columns.flatMap((column) => column.failures);
  if (onError === 'stop' && failures.length > 0) throw new RewardError(failures);
  const unscored = new Uint8Array(count);
  columns.forEach(({ failed }, r) => {
    if (rewards[r]!.weight !== 0) for (const index of failed) unscored[index] = 1;
  });
  const facts = judgedBy(columns.map(({ grounds }) => grounds));
  return {
    names: rewards.map((reward) => reward.name),
    weights: rewards.map((reward) => reward.weight),
    columns: columns.map((column) => column.values),
    ...(columns.some(({ grounds }) => grounds.some((own) => own !== null)) && {
      grounds: columns.map(({ grounds }) => grounds),
    }),
    unscored,
    failures,
    seconds: Object.fromEntries(timed.map(({ seconds }, r) => [rewards[r]!.name, seconds])),
    ...(Object.keys(facts).length > 0 && { facts }),
  };
}

/**
 * Starts every reward function, and times each: its own work in this thread, and its wait after all have started. Thus no
 * function is charged with the work of another.
 */
function timedColumns<Row>(
  rewards: readonly Reward<Row>[],
  batch: RewardBatch<Row>,
): Promise<{ column: Column; seconds: number }>[] {
  const started = rewards.map((reward) => {
    const start = performance.now();
    const column = scoreColumn(reward, batch);
    return { column, own: performance.now() - start };
  });
  const start = performance.now();
  return started.map(async ({ column, own }) => ({
    column: await column,
    seconds: (own + performance.now() - start) / 1000,
  }));
}

async function scoreColumn<Row>(reward: Reward<Row>, batch: RewardBatch<Row>): Promise<Column> {
  const started = performance.now();
  try {
    return checkValues(reward.name, batch, await call(reward, batch));
  } catch (error) {
    if (isPartialFailure(error)) {
      const reasons = new Map(error.failures.map(({ index, reason }) => [index, reason]));
      return checkValues(reward.name, batch, error.values, reasons);
    }
    return blame(reward, batch, error, performance.now() - started);
  }
}

/** The values for a batch; a wrong number of them is an error like any other. */
async function call<Row>(reward: Reward<Row>, batch: RewardBatch<Row>): Promise<unknown[]> {
  const { prompts, completions, completionIds, rows } = batch;
  // Copies, so that a function which sorts or empties its input cannot disturb the others.
  const answer = reward.score({
    prompts: [...prompts],
    completions: [...completions],
    ...(completionIds && { completionIds: [...completionIds] }),
    rows: [...rows],
  });
  const values: unknown = await answerOf(`reward ${reward.name}`, answer);
  if (!Array.isArray(values))
    throw new Reason(
      `returned ${show(values)}, not an array of numbers: it is given all completions of a batch; each(…) of grpo/rewards makes it of a function of one`,
    );
  if (values.length !== completions.length) {
    throw new Reason(
      `returned ${counted(values.length, 'value')} for ${counted(completions.length, 'completion')}`,
    );
  }
  return values;
}

/** Turns values into a column; an invalid value is a failure of its completion. */
function checkValues<Row>(
  name: string,
  batch: RewardBatch<Row>,
  values: unknown[],
  reasons = new Map<number, string>(),
): Column {
  const column = new Float64Array(values.length).fill(Number.NaN);
  const grounds = new Array<Grounds | null>(values.length).fill(null);
  for (let i = 0; i < values.length; i++) {
    if (reasons.has(i)) {
      grounds[i] = providerIn(values[i]);
      continue;
    }
    const read = readValue(values[i]);
    if (typeof read === 'string') {
      reasons.set(i, read);
      continue;
    }
    column[i] = read.value;
    grounds[i] = read.grounds;
  }
  const failed = [...reasons.keys()].sort((a, b) => a - b);
  const failures = failed.map((index) => failureOf(name, batch, index, 1, reasons.get(index)!));
  return { values: column, grounds, failed, failures };
}

/** The provider that failed to judge, where it is known. */
function providerIn(value: unknown): Grounds | null {
  const read = readValue(value);
  const provider = typeof read === 'string' ? undefined : read.grounds?.provider;
  return provider === undefined ? null : { provider };
}

/** Finds the completion on which a function fails that has failed on the whole batch. */
async function blame<Row>(
  reward: Reward<Row>,
  batch: RewardBatch<Row>,
  error: unknown,
  milliseconds: number,
): Promise<Column> {
  const count = batch.completions.length;
  const lost = (index: number | null, reason: string): Column => ({
    values: new Float64Array(count).fill(Number.NaN),
    grounds: new Array(count).fill(null),
    failed: [...batch.completions.keys()],
    failures: [failureOf(reward.name, batch, index, count, reason)],
  });
  const reason = describeError(error);
  if (error instanceof Reason && !error.fromBatch) return lost(null, reason);
  if (count === 1) return lost(0, reason);
  const findAll = isPerCompletion(reward.score);
  const single = (i: number) =>
    call(reward, {
      prompts: [batch.prompts[i]!],
      completions: [batch.completions[i]!],
      ...(batch.completionIds && { completionIds: [batch.completionIds[i]!] }),
      rows: [batch.rows[i]!],
    });
  const { values, reasons, cut } = await scoreSingly(single, count, { milliseconds, findAll });
  if (findAll && reasons.size > 0) return checkValues(reward.name, batch, values, reasons);
  const [culprit] = reasons;
  if (culprit) {
    const [index, alone] = culprit;
    return lost(index, alone === reason ? reason : `${reason}; for this completion alone it ${alone}`);
  }
  const search = cut ? 'finding the completion to blame took too long' : 'no completion alone does that';
  return lost(null, `${reason}; ${search}`);
}
