import { wordsOf } from '../words.js';

/** The option that an answer names, or why it names none. */
export type Choice = { index: number; problem: null } | { index: null; problem: string };

/** `0` → `A`. */
export const letterOf = (index: number): string => String.fromCharCode(65 + index);

/**
 * Reads the answer to a question with options A, B, C…: a letter (`B`, `(b)`, `B.`, `Option B`), a letter with the text of
 * its option (`B) The neighbour`), or that text alone. Whatever names more than one option, or a letter with the text of
 * another, names none.
 */
export function choiceOf(answer: string, options: readonly string[]): Choice {
  const refused = (problem: string): Choice => ({ index: null, problem });
  const asWritten = only(options, (text) => trimmed(text) === trimmed(answer));
  if (asWritten !== undefined) return { index: asWritten, problem: null };
  const [, letter, rest = ''] =
    /^(?:option\s+)?\(?([a-z])(?:\)[.:]?|[.:]|(?=\s)|$)\s*(.*)$/is.exec(answer.trim()) ?? [];
  if (letter === undefined) {
    const index = only(options, (text) => comparable(text) === comparable(answer));
    return index === undefined ? refused('names no option') : { index, problem: null };
  }
  const index = letter.toUpperCase().charCodeAt(0) - 65;
  if (index >= options.length) return refused(`there is no option ${letter.toUpperCase()}`);
  const isWhole = comparable(rest) === '' || comparable(rest) === comparable(options[index]!);
  return isWhole ? { index, problem: null } : refused(`more than option ${letterOf(index)}`);
}

/** The place of the only text that fits. */
function only(options: readonly string[], fits: (text: string) => boolean): number | undefined {
  const places = options.flatMap((text, i) => (fits(text) ? [i] : []));
  return places.length === 1 ? places[0] : undefined;
}

const trimmed = (text: string) => text.trim().toLowerCase().replace(/\.$/, '');

/** The words without articles: `The man.` and `a man` are one. */
const comparable = (text: string) =>
  wordsOf(text)
    .filter((word) => !['the', 'a', 'an'].includes(word))
    .join(' ');
