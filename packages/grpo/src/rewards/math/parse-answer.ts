/** A recursive-descent parser of answers: lists and sets, intervals and unions, relations, matrices, values. */
import type { Answer, RelationSign } from './expression.js';
import { ExpressionParser } from './parse-expression.js';
import { tokenize } from './tokens.js';
import { RefusalError, type Work } from './work.js';

const RELATIONS: Readonly<Record<string, { sign: RelationSign; turned: boolean }>> = {
  '=': { sign: '=', turned: false },
  '≠': { sign: '≠', turned: false },
  '<': { sign: '<', turned: false },
  '≤': { sign: '≤', turned: false },
  '>': { sign: '<', turned: true },
  '≥': { sign: '≤', turned: true },
};

const CLOSING: Readonly<Record<string, readonly string[]>> = {
  '(': [')', ']'],
  '[': [')', ']'],
  '\\{': ['\\}'],
  '{': ['}'],
};

/**
 * Reads an answer.
 *
 * @param thousands - outside brackets `1,000` is one number
 * @throws Refused when the text is no mathematics, or nested too deep
 */
export function parseAnswer(text: string, work: Work, { thousands }: { thousands: boolean }): Answer {
  return new AnswerParser(tokenize(text, thousands), work).all();
}

class AnswerParser extends ExpressionParser {
  all(): Answer {
    const items = this.#items();
    if (this.next !== undefined) this.fail();
    return items.length === 1 ? items[0]! : { kind: 'list', open: '', close: '', items };
  }

  /** Relations between commas. */
  #items(): Answer[] {
    const items = [this.#relation()];
    while (this.take(',')) {
      // `1, 2, and 3` has two separators in a row.
      this.take(',');
      items.push(this.#relation());
    }
    return items;
  }

  #relation(): Answer {
    const sides = [this.#union()];
    const signs: { sign: RelationSign; turned: boolean }[] = [];
    for (let found = RELATIONS[this.next ?? '']; found; found = RELATIONS[this.next ?? '']) {
      this.advance();
      if (found.sign !== '=' || this.next !== '=') {
        // `<=` in two characters.
        const orEqual = found.sign === '<' && this.take('=');
        signs.push(orEqual ? { ...found, sign: '≤' } : found);
      } else {
        this.advance();
        signs.push(found);
      }
      sides.push(this.#union());
    }
    if (signs.length === 0) return sides[0]!;
    const ordered = signs.filter(({ sign }) => sign === '<' || sign === '≤');
    const turned = ordered.length > 0 && ordered.every((sign) => sign.turned);
    // 1 < x > 3 says nothing that people write as an answer.
    if (!turned && ordered.some((sign) => sign.turned)) throw new RefusalError('not mathematics');
    const names = signs.map(({ sign }) => sign);
    return turned
      ? { kind: 'relation', sides: sides.reverse(), signs: names.reverse() }
      : { kind: 'relation', sides, signs: names };
  }

  #union(): Answer {
    const items = [this.#operand()];
    while (this.next === '∪' || (this.next === 'U' && items[0]!.kind === 'list')) {
      this.advance();
      items.push(this.#operand());
    }
    return items.length === 1 ? items[0]! : { kind: 'union', items };
  }

  #operand(): Answer {
    if (this.take('∅')) return { kind: 'list', open: '{', close: '}', items: [] };
    if (this.next === 'begin' || (/^[([]$/.test(this.next ?? '') && this.peek(1) === 'begin'))
      return this.#matrix();
    if (this.next === '\\{' || this.#isStructure()) return this.nested(() => this.#bracketed());
    const first: Answer = { kind: 'value', value: this.expression() };
    if (this.next !== ':') return first;
    const items = [first];
    while (this.take(':')) items.push({ kind: 'value', value: this.expression() });
    return { kind: 'ratio', items };
  }

  /** Whether a bracket with a comma in it begins here. */
  #isStructure(): boolean {
    if (!/^[([{]$/.test(this.next ?? '')) return false;
    let depth = 0;
    for (let i = 0; ; i++) {
      const text = this.peek(i);
      if (text === undefined) return false;
      if (/^\\?[([{]$/.test(text)) depth++;
      else if (/^\\?[)\]}]$/.test(text) && --depth === 0) return false;
      else if (text === ',' && depth === 1) return true;
    }
  }

  #bracketed(): Answer {
    const open = this.advance();
    const closing = CLOSING[open] ?? this.fail();
    const empty = closing.includes(this.next ?? '');
    const items = empty ? [] : this.#items();
    const close = this.advance();
    if (!closing.includes(close)) this.fail();
    const set = open === '\\{' || open === '{';
    return {
      kind: 'list',
      open: set ? '{' : (open as '(' | '['),
      close: set ? '}' : (close as ')' | ']'),
      items,
    };
  }

  /** `\begin{pmatrix} a & b \\ c & d \end{pmatrix}`, whatever the brackets. */
  #matrix(): Answer {
    const bracketed = this.take('(') || this.take('[');
    this.expect('begin');
    const rows: Answer[][] = [];
    do {
      if (this.next === 'end') break;
      rows.push([this.#relation()]);
      while (this.take('&')) rows.at(-1)!.push(this.#relation());
    } while (this.take('row'));
    this.expect('end');
    if (bracketed && !this.take(')')) this.expect(']');
    return { kind: 'matrix', rows };
  }
}
