import { textPair } from '../../audit/text-pair.js';
import { type Pair, worstOf } from '../../audit/worst.js';
import { renderProblems } from '../../tasks/render-problems.js';
import type { Problem } from '../../tasks/task.js';
import type { Comparison } from '../../trace/index.js';
import { type EvalAuditContext, heldOut } from './context.js';

/** The problems that were evaluated are the first held-out rows, in their order, and none of them is trained on. */
export function compareProblems(context: EvalAuditContext): Comparison[] {
  const { trainer, result } = context;
  const held = heldOut(context);
  const prompts = renderProblems(trainer.model, held);
  const asked = result.completions.map(({ prompt, problem }) =>
    textPair(prompt, prompts[problem]?.text ?? ''),
  );
  const count: Pair = { found: result.problems, plain: held.length, bound: 0 };
  return [
    ...worstOf('evaluation', 'number of evaluated problems', [count]),
    ...worstOf('evaluation', 'prompt of a held-out problem', asked),
    ...worstOf('evaluation', 'training row that asks what a held-out problem asks', trainedOn(context, held)),
  ];
}

/** What a task's own hold-out tells problems apart by, or what follows from that. */
const questionOf = ({ prompt }: Problem): string => JSON.stringify(prompt);

function trainedOn(
  { trainer: { task }, evaluatesTrained }: EvalAuditContext,
  held: readonly Problem[],
): Pair[] {
  if (evaluatesTrained) return [];
  const places = new Map(held.map((problem, place) => [questionOf(problem), place]));
  const shared = task.train.flatMap((problem, row): Pair[] => {
    const place = places.get(questionOf(problem));
    if (place === undefined) return [];
    return [{ found: `row ${row + 1}, as held-out problem ${place + 1}`, plain: 'none', bound: 0 }];
  });
  return shared.length > 0 ? shared : [{ found: 'none', plain: 'none', bound: 0, compared: held.length }];
}
