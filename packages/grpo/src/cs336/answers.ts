import { parseDecimal } from '../rewards/numeric.js';
import { demand } from './inputs.js';

/** A question of MMLU, as far as reading its answer needs it. */
export interface MmluExample {
  /** The choices, A first. */
  options: readonly string[];
}

const CHOICE = /\banswer\s+is\s*:?\s*[("*]*([A-Z])(?![\p{L}\p{N}'’])/u;

/**
 * The letter that a model chose: that of the first “answer is X”.
 *
 * @returns null where there is none, or where the question has no such choice
 * @throws TypeError naming a missing input
 *
 * @example
 * import { parseMmluResponse } from 'grpo/cs336';
 *
 * const mmluExample = { options: ['1', '2', '3', '4'] };
 * console.log(parseMmluResponse({ mmluExample, modelOutput: 'The correct answer is B.' })); // B
 * console.log(parseMmluResponse({ mmluExample, modelOutput: 'The correct answer is 2.' })); // null
 */
export function parseMmluResponse(options: { mmluExample: MmluExample; modelOutput: string }): string | null {
  demand('parseMmluResponse', options, 'mmluExample', 'modelOutput');
  const letter = CHOICE.exec(options.modelOutput)?.[1];
  if (letter === undefined) return null;
  return letter.charCodeAt(0) - 'A'.charCodeAt(0) < options.mmluExample.options.length ? letter : null;
}

// A minus between two numbers subtracts. Commas group only where three digits follow.
const NUMBER = /(?:(?<![\p{L}\p{N}).])[-−])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|(?<!\d)\.\d+/gu;

/**
 * The last number of an output, as a plain decimal: `1,000.50` gives `1000.5`, so that equal numbers are equal texts.
 *
 * @returns null where there is no number in digits
 * @throws TypeError naming a missing input
 *
 * @example
 * import { parseGsm8kResponse } from 'grpo/cs336';
 *
 * console.log(parseGsm8kResponse({ modelOutput: '48 + 24 = 72 clips.' })); // 72
 * console.log(parseGsm8kResponse({ modelOutput: 'Seventy-two.' })); // null
 */
export function parseGsm8kResponse(options: { modelOutput: string }): string | null {
  demand('parseGsm8kResponse', options, 'modelOutput');
  const last = [...options.modelOutput.matchAll(NUMBER)].at(-1);
  return last ? parseDecimal(last[0]) : null;
}
