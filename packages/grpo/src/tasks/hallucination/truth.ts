import { containsRun, contentWords, wordF1, wordsOf } from '../words.js';

/** Texts that an answer is compared with. */
export interface ComparedTexts {
  right: string;
  hallucinated: string;
  /** The question, and the text to answer from: their words count for neither side. */
  asked: string;
  source: string;
}

/**
 * How far an answer is on the side of the right one, −1 (the hallucinated one, or neither) to 1 (the right one): its share
 * of the words that only the right one has, less its share of those that only the hallucinated one has. An answer with
 * both comes to 0; one with the right words among many others is no answer.
 */
export function truthOf(answer: string, { right, hallucinated, asked, source }: ComparedTexts): number {
  const [own, good, bad, question, text] = [answer, right, hallucinated, asked, source].map(wordsOf) as [
    string[],
    string[],
    string[],
    string[],
    string[],
  ];
  const shareOf = (words: readonly string[]) =>
    words.filter((word) => own.includes(word)).length / words.length;
  const side =
    shareOf(distinctive(good, bad, [question])) - shareOf(distinctive(bad, good, [question, text]));
  return Math.max(-1, Math.min(1, side, 4 * nearness(own, good) - 1));
}

/** How near a text is to a reference, 0 to 1: 1 where it has it word for word and little else, else their F1. */
function nearness(words: readonly string[], reference: readonly string[]): number {
  const isBrief = words.length <= 2 * reference.length + 12;
  return isBrief && containsRun(words, reference) ? 1 : wordF1(words, reference);
}

/** The words that tell a text from another, without those that are known besides; where none are left, with them. */
function distinctive(
  words: readonly string[],
  other: readonly string[],
  known: readonly (readonly string[])[],
): readonly string[] {
  const without = (list: readonly string[], out: readonly string[]) =>
    list.filter((word) => !out.includes(word));
  const choices = [without(contentWords(words), other), without(words, other), words];
  const distinct = choices.find((list) => list.length > 0) ?? [];
  return known.reduce((rest, out) => {
    const fewer = without(rest, out);
    return fewer.length > 0 ? fewer : rest;
  }, distinct);
}
