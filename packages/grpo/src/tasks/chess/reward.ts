/** Chess as RookWorld asks it: policies (P) and environments (A). */
import type { Verdict } from '../../rewards/reward.js';
import type { Analyst } from './engine/analysis.js';
import { scoreEnvironment } from './environment.js';
import { quoteExcerpt } from './fen.js';
import { GrammarError } from './grammar.js';
import { scorePolicy } from './policy.js';

/**
 * The reward of a completion, by its prompt's exact prefix.
 *
 * | prompt | with an engine | without |
 * | ------ | -------------- | ------- |
 * | `A: `  | −0.9 to 0.54   | the same: the rules tell all |
 * | `P: `  | −1 to 1        | 0 to 0.7, −0.5 for a malformed prompt: another scale, of form and legality only |
 *
 * @throws GrammarError for a prompt of any other kind: no score of general text takes its place
 * @throws EngineFailure when the engine cannot judge a position
 */
export async function scoreChess(prompt: string, completion: string, analyst?: Analyst): Promise<Verdict> {
  if (prompt.startsWith('A: ')) return scoreEnvironment(prompt, completion);
  if (prompt.startsWith('P: ')) return scorePolicy(prompt, completion, analyst);
  throw new GrammarError(`a chess prompt begins with "P: " or "A: ", found ${quoteExcerpt(prompt)}`);
}
