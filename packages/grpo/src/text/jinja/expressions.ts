import { readAttribute, readElement, slice } from './attributes.js';
import { filter } from './filters.js';
import { MISSING_GLOBALS } from './globals.js';
import type { Call, Identifier, Member, Node } from './nodes.js';
import { binary, unary } from './operators.js';
import type { Scope } from './scope.js';
import { test } from './tests.js';
import { Callable, type Dict, Float, int, isTrue, iterate, kindOf, Tuple, type Value } from './values.js';

const CONSTANTS = new Map<string, Value>(
  Object.entries({ true: true, false: false, none: null, True: true, False: false, None: null }),
);

/** The value of an expression, as Python's Jinja gives it. */
export function evaluate(node: Node, scope: Scope): Value {
  switch (node.type) {
    case 'StringLiteral':
      return node.value;
    case 'IntegerLiteral':
      return int(node.value);
    case 'FloatLiteral':
      return new Float(node.value);
    case 'ArrayLiteral':
      return node.value.map((item) => evaluate(item, scope));
    case 'TupleLiteral':
      return new Tuple(node.value.map((item) => evaluate(item, scope)));
    case 'ObjectLiteral':
      return new Map([...node.value].map(([key, value]) => [textKey(key, scope), evaluate(value, scope)]));
    case 'Identifier':
      return variable(node.value, scope);
    case 'MemberExpression':
      return member(node, scope);
    case 'CallExpression':
      return call(node, scope);
    case 'UnaryExpression': {
      const value = evaluate(node.argument, scope);
      return node.operator.value === 'not' ? !isTrue(value) : unary(node.operator.value, value);
    }
    case 'BinaryExpression': {
      const left = evaluate(node.left, scope);
      const operator = node.operator.value;
      if (operator === 'and') return isTrue(left) ? evaluate(node.right, scope) : left;
      if (operator === 'or') return isTrue(left) ? left : evaluate(node.right, scope);
      return binary(operator, left, evaluate(node.right, scope));
    }
    case 'Ternary':
      return evaluate(isTrue(evaluate(node.condition, scope)) ? node.trueExpr : node.falseExpr, scope);
    case 'SelectExpression':
      return isTrue(evaluate(node.test, scope)) ? evaluate(node.lhs, scope) : undefined;
    case 'TestExpression':
      return test(node.test.value, evaluate(node.operand, scope)) !== node.negate;
    case 'FilterExpression':
      return applyFilter(evaluate(node.operand, scope), node.filter, scope);
    default:
      throw new Error(`${node.type} is not supported here`);
  }
}

export function applyFilter(value: Value, node: Identifier | Call, scope: Scope): Value {
  if (node.type === 'Identifier') return filter(node.value, value, [], new Map());
  const [args, keywords] = evaluateArguments(node.args, scope);
  return filter((node.callee as Identifier).value, value, args, keywords);
}

/** @throws Error when it is no function. */
export function callable(node: Node, scope: Scope): Callable {
  const value = evaluate(node, scope);
  if (value instanceof Callable) return value;
  throw new Error(`${describe(node)} is called, but it is ${kindOf(value)}`);
}

export function evaluateArguments(nodes: readonly Node[], scope: Scope): [Value[], Dict] {
  const args: Value[] = [];
  const keywords: Dict = new Map();
  const name = (key: string, value: Value) => {
    if (keywords.has(key)) throw new Error(`the argument ${key} is given twice`);
    keywords.set(key, value);
  };
  for (const node of nodes) {
    if (node.type === 'SpreadExpression') args.push(...iterate(evaluate(node.argument, scope)));
    else if (node.type === 'KeywordArgumentExpression') name(node.key.value, evaluate(node.value, scope));
    else if (node.type === 'KeywordSpreadExpression') {
      const spread = evaluate(node.argument, scope);
      if (!(spread instanceof Map)) throw new Error(`** takes a dict, found ${kindOf(spread)}`);
      for (const [key, value] of spread) name(key, value);
    } else args.push(evaluate(node, scope));
  }
  return [args, keywords];
}

function variable(name: string, scope: Scope): Value {
  if (CONSTANTS.has(name)) return CONSTANTS.get(name);
  const value = scope.get(name);
  if (value === undefined && MISSING_GLOBALS.has(name)) throw new Error(`${name} is not supported`);
  return value;
}

function member(node: Member, scope: Scope): Value {
  const object = evaluate(node.object, scope);
  const { property } = node;
  if (object === undefined)
    throw new Error(`${describe(node.object)} is undefined, and ${describe(node)} is read`);
  if (!node.computed) {
    return property.type === 'Identifier'
      ? readAttribute(object, property.value)
      : readElement(object, evaluate(property, scope));
  }
  if (property.type !== 'SliceExpression') return readElement(object, evaluate(property, scope));
  const given = (bound: Node | undefined) => {
    const value = bound && evaluate(bound, scope);
    if (bound && value === undefined) throw new Error(`a bound of the slice ${describe(node)} is undefined`);
    return value;
  };
  return slice(object, given(property.start), given(property.stop), given(property.step));
}

function call(node: Call, scope: Scope): Value {
  const found = callable(node.callee, scope);
  return found.call(...evaluateArguments(node.args, scope));
}

function textKey(node: Node, scope: Scope): string {
  const key = evaluate(node, scope);
  if (typeof key === 'string') return key;
  throw new Error(`the keys of a dict must be text, found ${kindOf(key)}`);
}

/** A name for an expression in messages. */
export function describe(node: Node): string {
  if (node.type === 'Identifier') return node.value;
  if (node.type === 'MemberExpression') {
    const { object, property, computed } = node;
    if (!computed) return `${describe(object)}.${describe(property)}`;
    return `${describe(object)}[${property.type === 'SliceExpression' ? ':' : describe(property)}]`;
  }
  if (node.type === 'StringLiteral') return JSON.stringify(node.value);
  if (node.type === 'IntegerLiteral') return String(node.value);
  if (node.type === 'CallExpression') return `${describe(node.callee)}(…)`;
  return '(…)';
}
