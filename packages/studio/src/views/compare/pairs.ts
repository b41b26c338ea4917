/** The completions of two steps side by side: those of one prompt, place by place. */
import type { CompareAnswer, StepAnswer } from 'grpo/studio';
import type { Completion } from '../../parts/rewards-of.js';

export interface Pair {
  here?: Completion;
  there?: Completion;
}

export type PairRow =
  | { kind: 'prompt'; text: string; here: number; there: number; pairs: number; different: number }
  | ({ kind: 'pair' } & Pair);

/** A row for each prompt that both have, and below it one for each place of the two groups. */
export function pairRows(
  prompts: CompareAnswer['prompts'],
  here: StepAnswer['view'],
  there: StepAnswer['view'],
  onlyDifferent: boolean,
): PairRow[] {
  const own = (view: StepAnswer['view'], prompt: number) =>
    view.completions.filter((one) => one.prompt === prompt);
  return prompts.flatMap((prompt): PairRow[] => {
    const [a, b] = [own(here, prompt.here), own(there, prompt.there)];
    const pairs = Array.from(
      { length: Math.max(a.length, b.length) },
      (_, i): Pair => ({
        ...(a[i] && { here: a[i] }),
        ...(b[i] && { there: b[i] }),
      }),
    );
    const different = pairs.filter(isDifferent);
    const shown = onlyDifferent ? different : pairs;
    if (onlyDifferent && shown.length === 0) return [];
    return [
      { kind: 'prompt', ...prompt, pairs: pairs.length, different: different.length },
      ...shown.map((pair): PairRow => ({ kind: 'pair', ...pair })),
    ];
  });
}

/** NaN here and there is no difference. */
const isDifferent = ({ here, there }: Pair): boolean =>
  here?.text !== there?.text ||
  !Object.is(here?.total, there?.total) ||
  !Object.is(here?.advantage, there?.advantage) ||
  here?.finish !== there?.finish;

/** there − here; undefined where one of them has none. */
export const change = (here: number | undefined, there: number | undefined): number | undefined =>
  here === undefined || there === undefined ? undefined : there - here;
