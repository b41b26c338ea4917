import { lastBoxed } from './math/boxed.js';

/**
 * The final answer of a worked solution: the text after its last `####`, as in GSM8K, or else what its last `\boxed{…}`
 * holds, as in MATH. Null without either, and where it is empty.
 */
export function finalAnswer(solution: string): string | null {
  const mark = solution.lastIndexOf('####');
  const answer = mark >= 0 ? solution.slice(mark + 4) : lastBoxed(solution);
  return answer?.trim() || null;
}
