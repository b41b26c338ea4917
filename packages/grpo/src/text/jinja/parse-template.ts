import { parse, tokenize } from '@huggingface/jinja';
import { cutSource } from './cut-source.js';
import type { Node } from './nodes.js';

type Token = ReturnType<typeof tokenize>[number];

const KEYWORDS = new Set(['if', 'else', 'in', 'is', 'not', 'and', 'or']);
const BOUNDARIES = /^(Comma|Equals|Colon)$/;
const BREAKS = new Set(['and', 'or', 'if', 'else']);

/**
 * The statements of a template. Comments among them are ours: each holds the line of the tag behind it.
 * @throws Error for text that is no Jinja, and for text that the library would silently read otherwise.
 */
export function parseTemplate(source: string): Node[] {
  const tokens: Token[] = [];
  for (const piece of cutSource(source)) {
    if (piece.kind === 'text') {
      tokens.push({ type: 'Text', value: piece.source });
      continue;
    }
    const tag = tokenizeTag(piece.source, piece.line);
    tokens.push({ type: 'Comment', value: String(piece.line) }, ...tag);
  }
  return parse(tokens).body as unknown as Node[];
}

function tokenizeTag(source: string, line: number): Token[] {
  try {
    const tokens = tokenize(source);
    refuseMissingCommas(tokens);
    refuseChains(tokens);
    return tokens;
  } catch (cause) {
    throw new Error(`line ${line}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

/** The library takes `[1 2]` for `[1, 2]`, and so misreads numbers such as 1e3. */
function refuseMissingCommas(tokens: readonly Token[]): void {
  const word = (token: Token) => token.type === 'Identifier' && !KEYWORDS.has(token.value);
  for (let i = 1; i + 1 < tokens.length; i++) {
    const [left, right] = [tokens[i]!, tokens[i + 1]!];
    // The first word of a statement is its name.
    const statement = i === 1 && tokens[0]!.type === 'OpenStatement';
    const ends =
      /^(Numeric|String)Literal$|^Close(Paren|SquareBracket|CurlyBracket)$/.test(left.type) || word(left);
    const begins = /^(Numeric|String)Literal$|^OpenCurlyBracket$/.test(right.type) || word(right);
    const adjacent = left.type === 'StringLiteral' && right.type === 'StringLiteral';
    if (ends && begins && !statement && !adjacent) {
      throw new Error(`there is nothing between ${left.value} and ${right.value}`);
    }
  }
}

/** Python reads `a < b < c` as `a < b and b < c`, the library as `(a < b) < c`. */
function refuseChains(tokens: readonly Token[]): void {
  // The `in` of a loop compares nothing.
  let loop = tokens[1]?.value === 'for';
  const counts = [0];
  for (const { type, value } of tokens) {
    if (/^Open(Paren|SquareBracket|CurlyBracket)$/.test(type)) counts.push(0);
    else if (/^Close(Paren|SquareBracket|CurlyBracket)$/.test(type)) counts.pop();
    else if (loop && counts.length === 1 && value === 'in') loop = false;
    else if (type === 'ComparisonBinaryOperator' || (type === 'Identifier' && value === 'in')) {
      const count = counts.pop() ?? 0;
      if (count > 0)
        throw new Error(`${value}: a chain of comparisons is not supported; write "and", or brackets`);
      counts.push(count + 1);
    } else if (BOUNDARIES.test(type) || (type === 'Identifier' && BREAKS.has(value))) {
      counts[counts.length - 1] = 0;
    }
  }
}
