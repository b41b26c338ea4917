/** The second normaliser of the assignment's grader: LaTeX and words as plain mathematics. */
import { clean } from './clean-answer.js';

const UNITS =
  /\s*(?:degree|cm|centimeter|meter|mile|second|minute|hour|day|week|month|year|foot|feet|inch|yard)(?:es|s)?(?![a-z])(?:\s*\^\{?\d+\}?)?/g;

/** Commands, by their plain text; others lose their backslash. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/\\(?:cdot|times)(?![a-z])/g, '*'],
  [/\\div(?![a-z])/g, '/'],
  [/\\infty(?![a-z])/g, 'inf'],
  [/\\pm(?![a-z])/g, '±'],
  [/\\mp(?![a-z])/g, '∓'],
  [/\\cup(?![a-z])/g, 'u'],
  [/\\sqrt\s*\{([^{}]*)\}/g, 'sqrt($1)'],
  [/\\sqrt\s*(\w)/g, 'sqrt($1)'],
  [/\^\{(\w)\}/g, '^$1'],
  [/\\([{}])/g, '$1'],
  [/\\([a-z]+)/g, '$1'],
];

/** A number with commas in the right places, or a whole number with `.0`. */
const NUMBER = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$|^-?\d+\.\d*$/;

/** An answer in plain text, in lower case and without spaces, as `(7+3/4)` of `7\frac{3}{4}`. */
export function plainText(text: string): string {
  let out = clean(text)
    .toLowerCase()
    .replace(/[$%]/g, '')
    .replace(/\^\\circ/g, '')
    .replace(/\\pi(?![a-z])/g, 'pi')
    .replace(/\b(?:or|and)\b/g, ',')
    .replace(UNITS, '');
  // From the inside out: a fraction in a fraction has braces in its own.
  for (let depth = 0; depth < 8 && out.includes('\\frac'); depth++)
    out = out
      .replace(/(?<![\d.])(\d+)\s*\\frac\s*\{(\d+)\}\s*\{(\d+)\}/g, '($1+$2/$3)')
      .replace(/\\frac\s*\{(\w+)\}\s*\{(\w+)\}/g, ' $1/$2')
      .replace(/\\frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}/g, ' ($1)/($2)')
      .replace(/\\frac\s*(\d)\s*(\d)/g, ' $1/$2');
  for (const [pattern, replacement] of PLAIN) out = out.replace(pattern, replacement);
  out = out
    .trim()
    .replace(/(?<![\d.])(\d+) +(\d+\/\d+)/g, '($1+$2)')
    .replace(/\s/g, '');
  if (out.startsWith('{') && out.endsWith('}')) out = out.slice(1, -1);
  return NUMBER.test(out) ? wholeNumber(out.replaceAll(',', '')) : out;
}

/** `7.00` is 7. */
const wholeNumber = (text: string) => text.replace(/\.0*$/, '');
