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
  const limitOf = (b: number) => {
    const { length } = batch.prompts[problemOf(batch, b)]!.ids;
    return Math.min(maxNewTokens, model.decoder.config.maxPositions - length);
  };
  const plain = batch.completions_B.flatMap((completion, b): PlainEnd[] => {
    if (isOfEarlierRun(trainer, batch, problemOf(batch, b))) return [];
    const { ids } = completion;
    const before = tokenizer.decode(ids.slice(0, -1));
    const isEnd = (id: number | undefined) => id !== undefined && endIds.has(id);
    const text = isEnd(ids.at(-1)) ? before : tokenizer.decode(ids);
    const isLast = ids.length >= minNewTokens && (isEnd(ids.at(-1)) || endsIn(task.stop, before, text));
    const isOver = (length: number) =>
      length >= minNewTokens &&
      (isEnd(ids[length - 1]) ||
        endsIn(
          task.stop,
          tokenizer.decode(ids.slice(0, length - 1)),
          tokenizer.decode(ids.slice(0, length)),
        ));
    // To decode every beginning takes long, and few completions have a stop string before their last token.
    const hasStop = task.stop.some((stop) => before.includes(stop));
    const first = ids.findIndex((id, t) => (hasStop ? isOver(t + 1) : t + 1 >= minNewTokens && isEnd(id)));
    const isEarly = ids.length < minNewTokens;
    const none = isEarly
      ? `no end before ${minNewTokens} tokens (rollout.minNewTokens)`
      : `neither an end nor ${limitOf(b)} tokens`;
    const atLimit = ids.length === limitOf(b) ? 'length' : none;
    return [
      { b, completion, text, reason: isLast ? 'stop' : atLimit, place: first < 0 ? ids.length : first + 1 },
    ];
  });
  const each = (pairOf: (one: PlainEnd) => Pair) =>
    plain.map((one) => ({ ...pairOf(one), completion: one.b }));
  return {
    comparisons: [
      ...worstOf(
        'text',
        'text of the completion',
        each(({ completion, text }) => textPair(completion.text, text)),
      ),
      ...worstOf(
        'completion',
        'reason of the end',
        each(({ completion, reason }) => ({ found: completion.finishReason, plain: reason, bound: 0 })),
      ),
      ...worstOf(
        'completion',
        'place of the end',
        each(({ completion, place }) => ({ found: completion.ids.length, plain: place, bound: 0 })),
      ),
    ],
  };
}

/** A completion, and what its ids say: its text, why it ended, and up to where it reaches. */
interface PlainEnd {
  b: number;
  completion: Completion;
  text: string;
  reason: string;
  /** Tokens up to the first end, whatever came behind it. */
  place: number;
}

/** Whether the last token of a text completed a stop string. */
const endsIn = (stop: readonly string[], before: string, text: string): boolean =>
  stop.some((one) => timesIn(text, one) > timesIn(before, one));

/** How often a text has another in it, overlapping ones included. */
function timesIn(text: string, part: string): number {
  let times = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) times++;
  return times;
}
