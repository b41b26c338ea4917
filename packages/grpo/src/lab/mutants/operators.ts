/**
 * What a mutant changes: small mistakes that people make, found in compiled JavaScript by its syntax alone. Tensors are
 * added and multiplied by methods, so these count as arithmetic.
 */
import ts from 'typescript';

export const OPERATORS = [
  'swapped arguments',
  'off by one',
  'dropped term',
  'wrong sign',
  'stale value',
  'missing call',
  'half',
  'comparison turned',
  'condition negated',
  'min for max',
  'sum for mean',
] as const;

export type Operator = (typeof OPERATORS)[number];

/** One change of a source: the text from `start` to `end` becomes `text`. */
export interface Mutation {
  operator: Operator;
  start: number;
  end: number;
  text: string;
}

/** The source with the change made. */
export const applied = (source: string, { start, end, text }: Mutation): string =>
  source.slice(0, start) + text + source.slice(end);

/** Every change that the operators make of a source, in its order. */
export function mutationsOf(source: string): Mutation[] {
  const file = ts.createSourceFile('source.js', source, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const found = new Map<string, Mutation>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isThrowStatement(node)) return;
    for (const [operator, text, at = node] of changesOf(node)) {
      const [start, end] = [at.getStart(file), at.getEnd()];
      if (source.slice(start, end) !== text)
        found.set(`${start} ${end} ${text}`, { operator, start, end, text });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

/** An operator, the new text, and the node that it replaces where that is another one. */
type Change = [operator: Operator, text: string, at?: ts.Node];

function changesOf(node: ts.Node): Change[] {
  if (ts.isCallExpression(node)) return [...callChanges(node), ...staleChanges(node)];
  if (ts.isBinaryExpression(node)) return binaryChanges(node);
  if (ts.isNumericLiteral(node)) return numberChanges(node);
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken)
    return [['wrong sign', node.operand.getText()]];
  if (ts.isElementAccessExpression(node)) return offByOne(node.argumentExpression);
  if (ts.isIfStatement(node)) return negated(node.expression);
  if (ts.isConditionalExpression(node)) return negated(node.condition);
  if (ts.isExpressionStatement(node)) return statementChanges(node.expression, node);
  return [];
}

const negated = (condition: ts.Expression): Change[] => [
  ['condition negated', `!(${condition.getText()})`, condition],
];

/** Of an index or a bound that is no literal: those are numbers, and text. */
function offByOne(bound: ts.Expression): Change[] {
  if (ts.isNumericLiteral(bound) || ts.isStringLiteralLike(bound)) return [];
  return ['+', '-'].map((sign): Change => ['off by one', `(${bound.getText()}) ${sign} 1`, bound]);
}

function numberChanges(node: ts.NumericLiteral): Change[] {
  if (ts.isPropertyAssignment(node.parent) && node.parent.name === node) return [];
  const value = Number(node.text);
  const whole: Change[] = [
    ['off by one', `${value + 1}`],
    ['off by one', `(${value - 1})`],
  ];
  return [
    ...(Number.isInteger(value) ? whole : []),
    ...(value === 0 ? [] : [['half', `${value / 2}`] as Change]),
  ];
}

/** A call or an assignment that is a statement of its own, and so only has an effect. */
function statementChanges(expression: ts.Expression, statement: ts.Statement): Change[] {
  const inner = ts.isAwaitExpression(expression) ? expression.expression : expression;
  if (ts.isCallExpression(inner) && inner.expression.kind !== ts.SyntaxKind.SuperKeyword)
    return [['missing call', ';', statement]];
  if (ts.isBinaryExpression(inner) && isAssignment(inner)) return [['stale value', ';', statement]];
  if (ts.isPostfixUnaryExpression(inner)) return [['stale value', ';', statement]];
  return [];
}

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression) =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;

const isText = (node: ts.Expression) => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

/** Infix operators that stand for each other by mistake. */
const TURNED: Readonly<Record<string, readonly [Operator, string]>> = {
  '<': ['comparison turned', '<='],
  '<=': ['comparison turned', '<'],
  '>': ['comparison turned', '>='],
  '>=': ['comparison turned', '>'],
  '===': ['comparison turned', '!=='],
  '!==': ['comparison turned', '==='],
  '+': ['wrong sign', '-'],
  '-': ['wrong sign', '+'],
  '+=': ['wrong sign', '-='],
  '-=': ['wrong sign', '+='],
};

function binaryChanges(node: ts.BinaryExpression): Change[] {
  const { left, right, operatorToken } = node;
  const sign = operatorToken.getText();
  if (sign === '+' && (isText(left) || isText(right))) return [];
  const turned = TURNED[sign];
  const [a, b] = [left.getText(), right.getText()];
  return [
    ...(turned ? [[turned[0], `${a} ${turned[1]} ${b}`] as Change] : []),
    ...('+-*/'.includes(sign) ? [['dropped term', a] as Change] : []),
    ...('+*'.includes(sign) ? [['dropped term', b] as Change] : []),
    ...('*/'.includes(sign) ? [['half', `(0.5 * (${node.getText()}))`] as Change] : []),
  ];
}

/** Methods that compute `x ∘ y`, those that write into x included, by the one that is its opposite. */
const OPPOSITE: Readonly<Record<string, string>> = { add: 'sub', sub: 'add', add_: 'sub_', sub_: 'add_' };
const TERMS = ['add', 'sub', 'mul', 'div', 'add_', 'sub_', 'mul_', 'div_'];
const FACTORS = ['mul', 'div', 'mul_', 'div_'];
const EXTREME: Readonly<Record<string, string>> = {
  min: 'max',
  max: 'min',
  minimum: 'maximum',
  maximum: 'minimum',
  clampMin: 'clampMax',
  clampMax: 'clampMin',
};
const AVERAGE: Readonly<Record<string, string>> = { mean: 'sum', sum: 'mean' };
/** Methods whose arguments are places in a sequence. */
const BOUNDED = ['slice', 'subarray', 'narrow', 'select', 'at', 'fill'];

function callChanges(node: ts.CallExpression): Change[] {
  const { expression: callee, arguments: args } = node;
  const changes: Change[] = [];
  args.slice(1).forEach((argument, i) => {
    const before = args[i]!;
    const swapped = [...args.slice(0, i), argument, before, ...args.slice(i + 2)].map((one) => one.getText());
    if (![before, argument].some(ts.isSpreadElement) && before.getText() !== argument.getText())
      changes.push(['swapped arguments', `${callee.getText()}(${swapped.join(', ')})`]);
  });
  if (ts.isIdentifier(callee) && args.length === 1) {
    const values = args[0]!.getText();
    if (callee.text === 'mean') changes.push(['sum for mean', `(mean(${values}) * (${values}).length)`]);
    if (callee.text === 'sum') changes.push(['sum for mean', `(sum(${values}) / (${values}).length)`]);
  }
  if (!ts.isPropertyAccessExpression(callee)) return changes;
  const { name } = callee;
  const subject = callee.expression.getText();
  const list = args.map((one) => one.getText()).join(', ');
  if (TERMS.includes(name.text) && args.length > 0) changes.push(['dropped term', subject]);
  if (name.text === 'neg' && args.length === 0) changes.push(['wrong sign', subject]);
  if (FACTORS.includes(name.text)) {
    const scale = name.text.endsWith('_') ? 'mul_' : 'mul';
    changes.push(['half', `${node.getText()}.${scale}(0.5)`]);
  }
  for (const [operator, table] of [
    ['wrong sign', OPPOSITE],
    ['min for max', EXTREME],
    ['sum for mean', AVERAGE],
  ] as const) {
    const other = Object.hasOwn(table, name.text) ? table[name.text] : undefined;
    if (other !== undefined) changes.push([operator, `${subject}.${other}(${list})`]);
  }
  if (BOUNDED.includes(name.text)) for (const bound of args) changes.push(...offByOne(bound));
  return changes;
}

/** The value from before a call in place of what it made, where that has a name. */
function staleChanges(node: ts.CallExpression): Change[] {
  const { parent, expression: callee, arguments: args } = node;
  const isValue =
    ts.isVariableDeclaration(parent) ||
    ts.isReturnStatement(parent) ||
    ts.isArrowFunction(parent) ||
    ts.isPropertyAssignment(parent) ||
    (ts.isBinaryExpression(parent) && isAssignment(parent)) ||
    (ts.isCallExpression(parent) && parent.arguments.includes(node));
  if (!isValue) return [];
  const before = ts.isPropertyAccessExpression(callee) ? callee.expression : args[0];
  return before && isNamed(before) ? [['stale value', before.getText()]] : [];
}

/** Whether it is a value with a name; `Math` and its like are no values. */
function isNamed(node: ts.Expression): boolean {
  if (ts.isIdentifier(node)) return /^[a-z]/.test(node.text);
  return (
    ts.isPropertyAccessExpression(node) &&
    (isNamed(node.expression) || node.expression.kind === ts.SyntaxKind.ThisKeyword)
  );
}
