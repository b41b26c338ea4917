/** From text to tokens: LaTeX and the plain notation of people and programs, in any mixture. */
import { FUNCTIONS } from './expression.js';
import { RefusalError } from './work.js';

/** A number, a variable, or a sign, command or word of fixed meaning, which is its own text. */
export interface Token {
  kind: 'number' | 'variable' | 'sign';
  text: string;
  /** Whether a space stands before it. */
  spaced: boolean;
}

const GREEK =
  'alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell hbar';

/** Other spellings of signs. */
const SIGNS: Readonly<Record<string, string>> = {
  times: '*',
  cdot: '*',
  ast: '*',
  div: '/',
  le: '≤',
  leq: '≤',
  leqslant: '≤',
  lt: '<',
  ge: '≥',
  geq: '≥',
  geqslant: '≥',
  gt: '>',
  ne: '≠',
  neq: '≠',
  approx: '=',
  equiv: '=',
  in: '=',
  pm: '±',
  mp: '∓',
  cup: '∪',
  infty: 'infinity',
  infinity: 'infinity',
  inf: 'infinity',
  oo: 'infinity',
  pi: 'pi',
  circ: '°',
  or: ',',
  and: ',',
  ',': ',',
  ';': ',',
  '{': '\\{',
  '}': '\\}',
  lbrace: '\\{',
  rbrace: '\\}',
  lbrack: '[',
  rbrack: ']',
  lparen: '(',
  rparen: ')',
  langle: '(',
  rangle: ')',
  '\\': 'row',
  vert: '|',
  lvert: '|',
  rvert: '|',
  mid: '|',
  '|': '|',
  emptyset: '∅',
  varnothing: '∅',
  union: '∪',
  arcsin: 'arcsin',
  asin: 'arcsin',
  arccos: 'arccos',
  acos: 'arccos',
  arctan: 'arctan',
  atan: 'arctan',
  lg: 'log',
  ...Object.fromEntries(FUNCTIONS.map((name) => [name, name])),
  ...Object.fromEntries(
    ['sqrt', 'frac', 'binom', 'lfloor', 'rfloor', 'lceil', 'rceil'].map((name) => [name, name]),
  ),
};

/** Words without a backslash that are signs; `in` and `e` are letters there. */
const WORD = new RegExp(
  `^(?:${[
    ...FUNCTIONS,
    'sqrt',
    'pi',
    'infinity',
    'infty',
    'inf',
    'oo',
    'or',
    'and',
    'union',
    'asin',
    'acos',
    'atan',
    'frac',
  ]
    .filter((name) => !/^(?:ceil|floor|factorial)$/.test(name))
    .sort((a, b) => b.length - a.length)
    .join('|')})`,
);

const GREEKS = new Set(GREEK.split(' '));

/** The longest run of letters that is read as a product of variables. */
const MAX_PRODUCT = 3;

/** `\begin{pmatrix}`, `\end{array}`: whatever the brackets and columns. */
const ENVIRONMENT = /^\\(begin|end)\s*\{(?:[pbvBV]?matrix|array)\*?\}(?:\{[lcr|]*\})?/;

const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4}(?![\da-zA-Z]))?/;
const GROUPED = /^\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d*)?/;

/**
 * @param thousands - outside brackets `1,000` is one number; otherwise it is two
 * @throws Refused for words and signs without a meaning here
 */
export function tokenize(text: string, thousands: boolean): Token[] {
  const tokens: Token[] = [];
  let depth = 0;
  let at = 0;
  let spaced = false;
  const push = (kind: Token['kind'], token: string, length: number) => {
    tokens.push({ kind, text: token, spaced });
    at += length;
    spaced = false;
  };
  while (at < text.length) {
    const char = text[at]!;
    if (/\s/.test(char)) {
      at++;
      spaced = true;
      continue;
    }
    // A number is short, and slicing the whole rest each time would take quadratic time.
    const ahead = text.slice(at, at + 400);
    const number = (thousands && depth === 0 ? GROUPED.exec(ahead) : null) ?? NUMBER.exec(ahead);
    if (number) push('number', number[0].replaceAll(',', ''), number[0].length);
    else if (ENVIRONMENT.test(ahead)) {
      const [whole, word] = ENVIRONMENT.exec(ahead)!;
      push('sign', word!, whole.length);
    } else if (char === '\\') {
      const name = /^\\(?:[a-zA-Z]+|[^a-zA-Z])/.exec(ahead)?.[0].slice(1) ?? '';
      if (GREEKS.has(name)) push('variable', name, name.length + 1);
      else {
        depth += name === '{' ? 1 : name === '}' ? -1 : 0;
        push('sign', signOf(name), name.length + 1);
      }
    } else if (/[a-zA-Z]/.test(char)) {
      const run = /^[a-zA-Z]+/.exec(ahead)![0];
      for (const part of partsOfRun(run))
        push(part.length > 1 ? 'sign' : 'variable', SIGNS[part] ?? part, part.length);
    } else {
      if ('([{'.includes(char)) depth++;
      if (')]}'.includes(char)) depth--;
      push('sign', char === ';' ? ',' : char, 1);
    }
  }
  return tokens;
}

function signOf(name: string): string {
  if (!Object.hasOwn(SIGNS, name)) throw new RefusalError('not mathematics');
  return SIGNS[name]!;
}

/** `xsqrt` is x and sqrt; `xy` is x and y; `apples` is no mathematics. */
function partsOfRun(run: string): string[] {
  const parts: string[] = [];
  let letters = 0;
  for (let i = 0; i < run.length; ) {
    const word = WORD.exec(run.slice(i))?.[0];
    letters = word === undefined ? letters + 1 : 0;
    if (letters > MAX_PRODUCT || parts.length > 12) throw new RefusalError('not mathematics');
    parts.push(word ?? run[i]!);
    i += word?.length ?? 1;
  }
  return parts;
}
