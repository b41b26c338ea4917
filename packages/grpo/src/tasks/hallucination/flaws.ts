import { wordsOf } from '../words.js';

const PLACEHOLDER =
  /\[(insert|your|name|answer|placeholder|todo|fill)[^\]]{0,40}\]|<(insert|your|answer|name|placeholder)[^>]{0,40}>|\b(lorem ipsum|your answer here|placeholder|todo|tbd)\b|_{4,}|\.{6,}/i;
const REFUSAL =
  /\bas an? (ai|artificial intelligence|language model|large language model)\b|\bi('m| am) (just |only )?an? (ai|language model)\b/i;
const STOCK =
  /\b(based on the (given|provided|above) (information|context|knowledge|passage|text|document)|i hope this helps|it is important to note|in conclusion|thank you for your question)\b/i;

/** Penalties for the form of an answer, as numbers below 0; only those that apply. */
export function flaws(answer: string): Partial<Record<'placeholder' | 'gibberish' | 'template', number>> {
  return {
    ...(PLACEHOLDER.test(answer) && { placeholder: -0.5 }),
    ...(isGibberish(answer) && { gibberish: -0.3 }),
    ...(REFUSAL.test(answer) ? { template: -0.8 } : STOCK.test(answer) && { template: -0.2 }),
  };
}

/** One character or a few words again and again, or more signs than letters. */
function isGibberish(answer: string): boolean {
  if (/(\S)\1{7}/u.test(answer)) return true;
  const dense = answer.replace(/\s/g, '');
  const letters = dense.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
  if (letters < dense.length / 2) return true;
  const words = wordsOf(answer);
  return words.length >= 12 && new Set(words).size < 0.3 * words.length;
}
