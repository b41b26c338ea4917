import type { StepRecord } from '../../record.js';
import type { CompletionRow } from '../reading.js';

/** The completions of records that have their texts. */
export function completionsOf(records: Iterable<StepRecord>): Iterable<CompletionRow> {
  return {
    *[Symbol.iterator]() {
      for (const record of records) yield* rowsOf(record);
    },
  };
}

function* rowsOf({ step, prompts, completions, rewards, advantages }: StepRecord): Generator<CompletionRow> {
  const count = completions?.texts?.length ?? 0;
  for (let b = 0; b < count; b++) {
    const prompt = prompts?.texts?.[completions?.prompt?.[b] ?? -1];
    const advantage = advantages?.[b];
    const names = rewards?.names ?? [];
    yield {
      step,
      completion: completions!.texts![b]!,
      ...(prompt !== undefined && { prompt }),
      rewards: Object.fromEntries(
        names.map((name, k) => [name, rewards?.values?.[k * count + b] ?? Number.NaN]),
      ),
      ...(advantage !== undefined && { advantage }),
    };
  }
}
