import type { Completion } from '../rollout/index.js';
import type { AuditContext, Measured } from './context.js';
import { isOfEarlierRun, problemOf } from './places.js';
import { textPair } from './text-pair.js';
import { type Pair, worstOf } from './worst.js';

/** The ids of every completion → its text, its length and why it ended. */
export function auditEndings({ trainer, batch }: AuditContext): Measured {
  const { model, ownStages, config, task } = trainer;
  if (ownStages?.includes('sample'))
    return {
      handOver: 'completion',
      missing: 'the standard stage sample: yours ends completions as it likes',
    };
  const { tokenizer, endIds } = model;
  const { minNewTokens, maxNewTokens } = config.rollout;
  const each = (pairOf: (completion: Completion, b: number) => Pair) =>
    batch.completions_B.flatMap((one, b) =>
      isOfEarlierRun(trainer, batch, problemOf(batch, b)) ? [] : [{ ...pairOf(one, b), completion: b }],
    );
  const isEnd = (id: number | undefined) => id !== undefined && endIds.has(id);
  const limitOf = (b: number) => {
    const { length } = batch.prompts[problemOf(batch, b)]!.ids;
    return Math.min(maxNewTokens, model.decoder.config.maxPositions - length);
  };
  const decoded = (ids: readonly number[]) => tokenizer.decode(ids);
  /** Whether the last token completed a stop string. */
  const isStopped = (ids: readonly number[]) =>
    task.stop.some((stop) => timesIn(decoded(ids), stop) > timesIn(decoded(ids.slice(0, -1)), stop));
  const isOver = (ids: readonly number[]) =>
    ids.length >= minNewTokens && (isEnd(ids.at(-1)) || isStopped(ids));
  const reasonOf = (ids: readonly number[], b: number): string => {
    if (isOver(ids)) return 'stop';
    return ids.length === limitOf(b) ? 'length' : `neither an end nor ${limitOf(b)} tokens`;
  };
  /** Tokens up to the first end, whatever came behind it. */
  const endOf = (ids: readonly number[]): number => {
    const before = decoded(ids.slice(0, -1));
    // To decode every beginning takes long, and few completions have a stop string before their last token.
    const hasStop = task.stop.some((stop) => before.includes(stop));
    const first = ids.findIndex((id, t) =>
      hasStop ? isOver(ids.slice(0, t + 1)) : t + 1 >= minNewTokens && isEnd(id),
    );
    return first < 0 ? ids.length : first + 1;
  };
  return {
    comparisons: [
      ...worstOf(
        'text',
        'text of the completion',
        each(({ ids, text }) => textPair(text, decoded(isEnd(ids.at(-1)) ? ids.slice(0, -1) : ids))),
      ),
      ...worstOf(
        'completion',
        'reason of the end',
        each(({ ids, finishReason }, b) => ({ found: finishReason, plain: reasonOf(ids, b), bound: 0 })),
      ),
      ...worstOf(
        'completion',
        'place of the end',
        each(({ ids }) => ({ found: ids.length, plain: endOf(ids), bound: 0 })),
      ),
    ],
  };
}

/** How often a text has another in it, overlapping ones included. */
function timesIn(text: string, part: string): number {
  let times = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) times++;
  return times;
}
