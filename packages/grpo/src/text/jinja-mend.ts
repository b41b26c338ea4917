import type { Template } from '@huggingface/jinja';

/** A node of the engine's syntax tree; only `type` is common to all. */
type Node = { type: string } & Record<string, unknown>;

/** What Python's `str.strip` takes for white space; JavaScript's `trim` differs (U+FEFF, U+0085, U+001C…). */
const PYTHON_SPACE = new Set(
  '\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000',
);

/**
 * The variables that a template mended by {@link mendTemplate} needs when it is rendered. Their names are not valid
 * in Jinja, so no template can collide with them.
 */
export const mendFunctions: Readonly<Record<string, unknown>> = {
  '@strip': (text: unknown, chars: unknown) => strip(text, chars, true, true),
  '@lstrip': (text: unknown, chars: unknown) => strip(text, chars, true, false),
  '@rstrip': (text: unknown, chars: unknown) => strip(text, chars, false, true),
  '@equal': equal,
  '@unequal': (left: unknown, right: unknown) => !equal(left, right),
  '@print': print,
};

/**
 * Makes the engine render a template as Python's Jinja does where it is known to differ silently: `strip` with an
 * argument, the white space that `strip` and `trim` take, and equality across types. A value whose printed form differs (a list, None, a
 * boolean) is refused when it is printed.
 */
export function mendTemplate(template: Template): void {
  visit(template.parsed as unknown as Node);
}

function visit(node: Node): void {
  for (const [key, child] of Object.entries(node)) {
    for (const item of Array.isArray(child) ? child : [child]) if (isNode(item)) visit(item);
    if (STATEMENT_LISTS.has(key) && Array.isArray(child)) node[key] = child.map(printed);
  }
  mendStrip(node);
  mendEquality(node);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

function mendStrip(node: Node): void {
  if (node.type === 'CallExpression' && isNode(node.callee) && node.callee.type === 'MemberExpression') {
    const { object, property, computed } = node.callee;
    if (computed || !isNode(property) || !/^[lr]?strip$/.test(String(property.value))) return;
    toCall(node, `@${property.value}`, [object, ...(node.args as unknown[])]);
  } else if (node.type === 'FilterExpression' && isNode(node.filter)) {
    const { filter } = node;
    const name = filter.type === 'CallExpression' ? (filter.callee as Node).value : filter.value;
    if (name === 'trim') toCall(node, '@strip', [node.operand, ...((filter.args as unknown[]) ?? [])]);
  }
}

function mendEquality(node: Node): void {
  const operator =
    node.type === 'BinaryExpression' && isNode(node.operator) ? node.operator.value : undefined;
  if (operator === '==') toCall(node, '@equal', [node.left, node.right]);
  if (operator === '!=') toCall(node, '@unequal', [node.left, node.right]);
}

/** The tree's classes are not exported; the interpreter looks at `type` only. */
function toCall(node: Node, name: string, args: unknown[]): void {
  Object.assign(node, { type: 'CallExpression', callee: identifier(name), args });
}

function identifier(value: string): Node {
  return { type: 'Identifier', value };
}

/** Where an expression is printed: it stands among statements. */
const STATEMENT_LISTS = new Set(['body', 'alternate', 'defaultBlock']);
const PRINTED = new Set(['Identifier', 'MemberExpression', 'CallExpression', 'Ternary', 'SelectExpression']);

function printed(node: Node): Node {
  if (!PRINTED.has(node.type)) return node;
  // The engine hands none and undefined alike to a function. A macro is not asked twice: it is always text.
  const macro = node.type === 'CallExpression' && (node.callee as Node).type === 'Identifier';
  const isNone = { type: 'TestExpression', operand: node, negate: false, test: identifier('none') };
  const call: Node = { type: '' };
  toCall(call, '@print', macro ? [node] : [node, isNone]);
  return call;
}

function print(value: unknown, isNone?: unknown): unknown {
  if (isNone !== true && (typeof value === 'string' || typeof value === 'number' || value === undefined)) {
    return value;
  }
  const kind = isNone === true ? 'none' : Array.isArray(value) ? 'a list' : `a ${typeof value}`;
  throw new Error(`it prints ${kind}, which Python would write in its own way; print text, or use tojson`);
}

/** In Python false equals 0 but no text; JavaScript's `==` makes it equal to empty text too. */
function equal(left: unknown, right: unknown): boolean {
  const number = (value: unknown) => (typeof value === 'boolean' ? Number(value) : value);
  return number(left) === number(right);
}

function strip(text: unknown, chars: unknown, left: boolean, right: boolean): string {
  // Jinja's trim of an undefined value is empty.
  if (text === undefined) return '';
  if (typeof text !== 'string' || (chars !== undefined && chars !== null && typeof chars !== 'string')) {
    throw new Error('strip and trim are supported for text, with text or nothing as their argument');
  }
  const unwanted = typeof chars === 'string' ? new Set(chars) : PYTHON_SPACE;
  const points = Array.from(text);
  let start = 0;
  let end = points.length;
  while (left && start < end && unwanted.has(points[start]!)) start++;
  while (right && end > start && unwanted.has(points[end - 1]!)) end--;
  return points.slice(start, end).join('');
}
