import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { BpeModel } from '../text/tokenizer-model.js';

/** Score of a token that nothing merges to. */
const NONE = 0;

/**
 * Scores by which llama.cpp merges as this model does: of all neighbours that make a token it takes the pair whose token
 * has the highest score. So a token's score falls with the place of its first merge in the list, and every two tokens that
 * make a third must be in the list, all that make the same one together, as in lists that were made from SentencePiece.
 *
 * @param added - tokens beside those of the model
 * @param isMatched - tokens that are found in the text before anything is merged
 * @throws UserError: no scores give these merges
 */
export function pieceScores(
  file: string,
  { vocab, merges }: BpeModel,
  added: readonly string[],
  isMatched: (token: string) => boolean,
): Map<string, number> {
  const refuse = (problem: string): never => {
    throw new UserError(
      `${file}: llama.cpp cannot merge as this tokenizer does, so its ids would be others: ${problem}`,
      { hint: 'Tokenizers that were made from a SentencePiece model can be exported, and byte-level ones.' },
    );
  };
  const scores = new Map<string, number>();
  const pairs = new Set<string>();
  let last = '';
  for (const [left, right] of merges) {
    const token = left + right;
    if (token !== last && scores.has(token))
      refuse(`the merges to ${excerpt(token)} are not together in the list`);
    if (token !== last) scores.set(token, -1 - scores.size);
    pairs.add(`${left}\0${right}`);
    last = token;
  }
  for (const token of [...Object.keys(vocab), ...added]) {
    if (isMatched(token)) continue;
    for (let i = 1; i < token.length; i++) {
      const [left, right] = [token.slice(0, i), token.slice(i)];
      if (!Object.hasOwn(vocab, left) || !Object.hasOwn(vocab, right)) continue;
      if (!pairs.has(`${left}\0${right}`))
        refuse(`${excerpt(left)} and ${excerpt(right)} make a token, but are not in the list of merges`);
    }
    if (!scores.has(token)) scores.set(token, NONE);
  }
  return scores;
}
