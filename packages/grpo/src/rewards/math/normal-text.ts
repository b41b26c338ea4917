/** The first normaliser of the assignment's grader: two answers of one normal text are equal. */
import { clean } from './clean-answer.js';
import { UNIT_WORDS } from './units.js';

/** A unit between characters that are in no word. */
const UNIT = new RegExp(
  `(^|\\W)(?:${[...UNIT_WORDS, 'per', 'sq', 'cubic'].sort((a, b) => b.length - a.length).join('|')})(?:e?s)?(?=\\W|$)`,
  'gi',
);

/**
 * An answer without units, degree, per cent and money signs, spaces and a short left side (`x=`); fractions, roots and
 * a half in one spelling.
 */
export function normalText(text: string): string {
  const withoutTail = text.replace(/\\text\s*\{[^{}]*\}\s*$/, '');
  const cleaned = clean(withoutTail.trim() === '' ? text : withoutTail)
    .replace(/\{[bv]matrix\}/g, '{pmatrix}')
    .replace(/\{array\}(?:\{[lcr|]*\})?/g, '{pmatrix}')
    .replace(/\\leq(?![a-z])/g, '\\le')
    .replace(/\\geq(?![a-z])/g, '\\ge')
    .replace(/\\neq(?![a-z])/g, '\\ne')
    .replace(/\^\\circ/g, '')
    .replace(/[$%]/g, '');
  const bare = cleaned.replace(UNIT, '$1').replace(/\s/g, '');
  const kept = bare === '' ? cleaned.replace(/\s/g, '') : bare;
  return fractions(shortSide(kept.replace(/(^|[^\d])\.(?=\d)/g, '$10.')));
}

/** Without a left side of one or two characters. */
function shortSide(text: string): string {
  const [left = '', right, ...more] = text.split('=');
  return right !== undefined && more.length === 0 && left.length <= 2 ? right : text;
}

function fractions(text: string): string {
  const braced = text
    .replace(/\\sqrt(?=[^{[\\])(.)/g, '\\sqrt{$1}')
    .replace(/\\frac([^{\\])([^{\\])/g, '\\frac{$1}{$2}')
    .replace(/\\frac([^{\\])\{/g, '\\frac{$1}{')
    .replace(/(\\frac\{[^{}]*\})([^{\\])/g, '$1{$2}');
  if (braced === '0.5') return '\\frac{1}{2}';
  return braced.replace(/^(-?\d+)\/(-?\d+)$/, '\\frac{$1}{$2}');
}
