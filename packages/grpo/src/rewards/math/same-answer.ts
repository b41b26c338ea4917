/** Whether two parsed answers are the same: structure first, then the values in it. */
import { type Answer, type Expression, negate, partsOf, type RelationSign } from './expression.js';
import { factorSign, sameValue } from './same-value.js';
import type { Work } from './work.js';

type List = Extract<Answer, { kind: 'list' }>;
type Relation = Extract<Answer, { kind: 'relation' }>;

/**
 * - Tuples and intervals: the same brackets, and the same items in the same order.
 * - Sets and bare lists, unions: the same items in any order.
 * - Equations: the same sides, or one a multiple of the other. Against a value, `x = 5` is 5; against an interval,
 *   `x > 3` is (3, ∞).
 * - `3 ± 2` is the list of both values.
 *
 * @throws Refused where two values cannot be compared
 */
export function sameAnswer(a: Answer, b: Answer, work: Work): boolean {
  work.spend(10);
  if (a.kind === 'relation' && b.kind === 'relation') return sameRelation(a, b, work);
  const [x, y] = [unfolded(a), unfolded(b)];
  if (x.kind === 'value' && y.kind === 'value') return sameValue(x.value, y.value, work);
  if (x.kind === 'matrix' && y.kind === 'matrix')
    return x.rows.length === y.rows.length && x.rows.every((row, r) => inOrder(row, y.rows[r]!, work));
  if (x.kind === 'ratio' && y.kind === 'ratio') return inOrder(x.items, y.items, work);
  if (x.kind === 'union' && y.kind === 'union') return inAnyOrder(x.items, y.items, work);
  if (x.kind !== 'list' || y.kind !== 'list') return false;
  if (isUnordered(x) && isUnordered(y)) return inAnyOrder(x.items, y.items, work);
  return x.open === y.open && x.close === y.close && inOrder(x.items, y.items, work);
}

const isUnordered = ({ open }: List) => open === '' || open === '{';

function inOrder(a: readonly Answer[], b: readonly Answer[], work: Work): boolean {
  return a.length === b.length && a.every((item, i) => sameAnswer(item, b[i]!, work));
}

function inAnyOrder(a: readonly Answer[], b: readonly Answer[], work: Work): boolean {
  if (a.length !== b.length) return false;
  const left = [...b];
  return a.every((item) => {
    const at = left.findIndex((other) => sameAnswer(item, other, work));
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  });
}

/** The answer in the form to compare with one of another kind: ± as a list of values, an assignment as its value. */
function unfolded(answer: Answer): Answer {
  if (answer.kind === 'value') {
    const values = withSigns(answer.value);
    return values.length === 1 ? answer : listOf(values.map((value) => ({ kind: 'value', value })));
  }
  if (answer.kind === 'relation') {
    const meant = assigned(answer) ?? interval(answer);
    return meant === undefined || meant.kind === 'relation' ? answer : unfolded(meant);
  }
  if (answer.kind !== 'list' || !isUnordered(answer)) return answer;
  const intervals = answer.items.map((item) => (item.kind === 'relation' ? interval(item) : undefined));
  if (answer.open === '' && intervals.every((item) => item !== undefined))
    return { kind: 'union', items: intervals };
  const items = answer.items.flatMap((item) => {
    const alone = item.kind === 'relation' ? unfolded(item) : item;
    const both = alone.kind === 'value' ? unfolded(alone) : alone;
    return both.kind === 'list' && both.open === '' ? both.items : [item];
  });
  return { ...answer, items };
}

const listOf = (items: readonly Answer[]): List => ({ kind: 'list', open: '', close: '', items });

/** The value with every ± as +, and with every ± as −; the value itself where there is none. */
function withSigns(value: Expression): Expression[] {
  if (!hasEither(value)) return [value];
  return [chosen(value, 1), chosen(value, -1)];
}

const hasEither = (e: Expression): boolean => e.kind === 'either' || partsOf(e).some(hasEither);

function chosen(e: Expression, way: 1 | -1): Expression {
  const pick = (part: Expression) => chosen(part, way);
  switch (e.kind) {
    case 'either':
      return e.sign === way ? pick(e.term) : negate(pick(e.term));
    case 'sum':
    case 'product':
      return { ...e, terms: e.terms.map(pick) };
    case 'quotient':
      return { ...e, top: pick(e.top), bottom: pick(e.bottom) };
    case 'power':
      return { ...e, base: pick(e.base), exponent: pick(e.exponent) };
    case 'call':
      return { ...e, argument: pick(e.argument) };
    default:
      return e;
  }
}

/** The value of `x = …`, `f(x) = …` or `… = x`: the side that is no name. */
function assigned({ sides, signs }: Relation): Answer | undefined {
  if (signs.some((sign) => sign !== '=')) return undefined;
  const [first, last] = [sides[0]!, sides.at(-1)!];
  if (isName(first)) return last;
  return isName(last) && sides.length === 2 ? first : undefined;
}

/** A variable, or variables side by side, as in f(x). */
function isName(side: Answer): boolean {
  if (side.kind === 'list') return side.items.every(isName);
  if (side.kind !== 'value') return false;
  const { value } = side;
  if (value.kind === 'product') return value.terms.every(({ kind }) => kind === 'variable');
  return value.kind === 'variable';
}

/** The interval that an inequality, or a chain of two, leaves its variable. */
function interval({ sides, signs }: Relation): Answer | undefined {
  if (!signs.every((sign) => sign === '<' || sign === '≤')) return undefined;
  const names = sides.map(isName);
  if (names.filter(Boolean).length !== 1) return undefined;
  const at = names.indexOf(true);
  if (sides.length > 3 || (sides.length === 3 && at !== 1)) return undefined;
  const low = at > 0 ? sides[at - 1]! : infinite(-1);
  const high = at < sides.length - 1 ? sides[at + 1]! : infinite(1);
  const opens = (sign: RelationSign | undefined) => sign !== '≤';
  return {
    kind: 'list',
    open: opens(at > 0 ? signs[at - 1] : undefined) ? '(' : '[',
    close: opens(at < signs.length ? signs[at] : undefined) ? ')' : ']',
    items: [low, high],
  };
}

function infinite(sign: 1 | -1): Answer {
  const value: Expression = { kind: 'constant', name: 'infinity' };
  return { kind: 'value', value: sign === 1 ? value : negate(value) };
}

/** The same sides, or both sides' difference a multiple of the other's: positive where the direction counts. */
function sameRelation(a: Relation, b: Relation, work: Work): boolean {
  const sameSigns = a.signs.length === b.signs.length && a.signs.every((sign, i) => sign === b.signs[i]);
  if (sameSigns && inOrder(a.sides, b.sides, work)) return true;
  const [x, y] = [difference(a), difference(b)];
  if (x === undefined || y === undefined) return sameMeaning(a, b, work);
  if (a.signs[0] !== b.signs[0]) return false;
  const factor = factorSign(x, y, work);
  if (factor === null) return sameMeaning(a, b, work);
  return factor > 0 || a.signs[0] === '=' || a.signs[0] === '≠';
}

/** Equations of one name each, such as x = ±2 and x = ∓2, or inequalities of one variable. */
function sameMeaning(a: Relation, b: Relation, work: Work): boolean {
  const [x, y] = [interval(a), interval(b)];
  if (x !== undefined && y !== undefined)
    return sameAnswer(x, y, work) && sameAnswer(nameOf(a), nameOf(b), work);
  const [p, q] = [assigned(a), assigned(b)];
  return (
    p !== undefined && q !== undefined && sameAnswer(nameOf(a), nameOf(b), work) && sameAnswer(p, q, work)
  );
}

const nameOf = ({ sides }: Relation) => sides.find(isName)!;

/** Left side minus right side. */
function difference({ sides, signs }: Relation): Expression | undefined {
  const [left, right] = sides;
  if (signs.length !== 1 || left?.kind !== 'value' || right?.kind !== 'value') return undefined;
  if (hasEither(left.value) || hasEither(right.value)) return undefined;
  return { kind: 'sum', terms: [left.value, negate(right.value)] };
}
