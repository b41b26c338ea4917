import { contentWords, trigrams, wordsOf } from '../words.js';

/** Longer is no quotation but a copy. */
const MOST_WORDS = 60;

/** How much of the evidence is quoted word for word from a source, 0 to 1. */
export function quotedShare(evidence: string, source: string): number {
  const words = wordsOf(evidence);
  if (words.length < 3 || words.length > MOST_WORDS) return 0;
  const told = new Set(trigrams(wordsOf(source)));
  const runs = trigrams(words);
  return runs.filter((run) => told.has(run)).length / runs.length;
}

/** Whether evidence speaks of the answer: they share a word that carries meaning, where the answer has one. */
export function speaksOf(evidence: string, answer: string): boolean {
  const asked = contentWords(wordsOf(answer)).filter((word) => word !== 'yes');
  const evidenceWords = new Set(wordsOf(evidence));
  return asked.length === 0 || asked.some((word) => evidenceWords.has(word));
}
