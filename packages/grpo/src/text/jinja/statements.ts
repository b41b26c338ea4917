import { GENERATION } from './cut-source.js';
import { applyFilter, callable, evaluate, evaluateArguments } from './expressions.js';
import type { CallStatement, For, Identifier, Node, SetNode } from './nodes.js';
import { text } from './print.js';
import { Scope } from './scope.js';
import { symbolsOf } from './symbols.js';
import { Callable, isTrue, iterate, type Keywords, kindOf, Loop, Namespace, type Value } from './values.js';
import { walk } from './walk.js';

type Flow = 'break' | 'continue' | undefined;

/** Where the rendered text goes, and the line that is being rendered, for messages. */
export interface Output {
  text: string;
  readonly position: { line: number };
}

/** Renders statements into `out`. @returns `break` or `continue` when one of them ended the turn of a loop. */
function execute(nodes: readonly Node[], scope: Scope, out: Output): Flow {
  for (const node of nodes) {
    const flow = executeOne(node, scope, out);
    if (flow) return flow;
  }
  return undefined;
}

function executeOne(node: Node, scope: Scope, out: Output): Flow {
  switch (node.type) {
    case 'Comment':
      out.position.line = Number(node.value);
      return undefined;
    case 'StringLiteral':
      out.text += node.value;
      return undefined;
    case 'If':
      return execute(isTrue(evaluate(node.test, scope)) ? node.body : node.alternate, scope, out);
    case 'For':
      return executeFor(node, scope, out);
    case 'Break':
      return 'break';
    case 'Continue':
      return 'continue';
    case 'Set':
      return executeSet(node, scope, out);
    case 'Macro':
      scope.set(node.name.value, block(node.name.value, node.args, node.body, scope, out));
      return undefined;
    case 'CallStatement':
      out.text += text(callWithBody(node, scope, out));
      return undefined;
    case 'FilterStatement':
      out.text += text(
        applyFilter(renderNodes(node.body, inside(node.body, scope), out), node.filter, scope),
      );
      return undefined;
    default:
      out.text += text(evaluate(node, scope));
      return undefined;
  }
}

function inside(body: readonly Node[], scope: Scope): Scope {
  return new Scope(scope).enter(symbolsOf(body));
}

/** The text of statements. @throws Error when one of them ends the turn of a loop that is not there. */
export function renderNodes(nodes: readonly Node[], scope: Scope, out: Output): string {
  const inner: Output = { text: '', position: out.position };
  if (execute(nodes, scope, inner)) throw new Error('break and continue must stand in a loop');
  return inner.text;
}

function executeFor(node: For, scope: Scope, out: Output): Flow {
  const { iterable, loopvar } = node;
  const filtered = iterable.type === 'SelectExpression' ? iterable : undefined;
  const all = iterate(evaluate(filtered?.lhs ?? iterable, scope));
  const items = filtered ? all.filter((item) => isTrue(evaluate(filtered.test, turn(item)))) : all;
  // Python's Jinja comes to the else where no turn ran to its end, be it for a break or a continue.
  let whole = false;
  for (const [index, item] of items.entries()) {
    // A variable set in one turn is unset in the next.
    const inner = turn(item);
    inner.set('loop', new Loop(items, index));
    inner.enter(symbolsOf(node.body));
    const flow = execute(node.body, inner, out);
    if (flow === 'break') break;
    if (flow === undefined) whole = true;
  }
  return whole ? undefined : execute(node.defaultBlock, inside(node.defaultBlock, scope), out);

  function turn(item: Value): Scope {
    const inner = new Scope(scope);
    assign(loopvar, item, inner);
    return inner;
  }
}

function executeSet(node: SetNode, scope: Scope, out: Output): undefined {
  assign(
    node.assignee,
    node.value ? evaluate(node.value, scope) : renderNodes(node.body, inside(node.body, scope), out),
    scope,
  );
}

function assign(target: Node, value: Value, scope: Scope): void {
  if (target.type === 'Identifier') {
    scope.set(target.value, value);
  } else if (target.type === 'TupleLiteral') {
    const values = iterate(value);
    if (values.length !== target.value.length) {
      throw new Error(`${values.length} values are unpacked into ${target.value.length} variables`);
    }
    for (const [i, each] of target.value.entries()) assign(each, values[i], scope);
  } else if (
    target.type === 'MemberExpression' &&
    !target.computed &&
    target.property.type === 'Identifier'
  ) {
    const object = evaluate(target.object, scope);
    if (!(object instanceof Namespace))
      throw new Error(`only a namespace has fields to set, not ${kindOf(object)}`);
    object.attributes.set(target.property.value, value);
  } else {
    throw new Error(`set takes a name, names, or a field of a namespace, not a ${target.type}`);
  }
}

/** A macro, or the body of a call block: it sees what stands around its definition, not around its call. */
function block(
  name: string,
  parameters: readonly Node[],
  body: readonly Node[],
  scope: Scope,
  out: Output,
): Callable {
  let takesCaller = false;
  walk(body, (node) => {
    if (node.type === 'Identifier' && node.value === 'caller') takesCaller = true;
  });
  return new Callable(name, (args, keywords) => {
    if (keywords.has('caller') && !takesCaller) throw new Error(`${name} does not use its caller`);
    const inner = new Scope(scope);
    bind(name, parameters, args, keywords, inner);
    inner.enter(symbolsOf(body));
    const { line } = out.position;
    const result = renderNodes(body, inner, out);
    out.position.line = line;
    return result;
  });
}

function bind(
  name: string,
  parameters: readonly Node[],
  args: readonly Value[],
  keywords: Keywords,
  scope: Scope,
): void {
  const rest = new Map(keywords);
  // Only a call block gives a caller; a macro within a macro has none of its own otherwise.
  scope.set('caller', rest.get('caller'));
  rest.delete('caller');
  if (args.length > parameters.length)
    throw new Error(`${name} takes at most ${parameters.length} arguments`);
  const defaults: (() => void)[] = [];
  for (const [i, parameter] of parameters.entries()) {
    const [key, otherwise] =
      parameter.type === 'KeywordArgumentExpression'
        ? [parameter.key.value, parameter.value]
        : [(parameter as Identifier).value, undefined];
    const given = i < args.length || rest.has(key);
    if (i < args.length && rest.has(key)) throw new Error(`${name}: the argument ${key} is given twice`);
    scope.set(key, i < args.length ? args[i] : rest.get(key));
    rest.delete(key);
    if (!given && otherwise) defaults.push(() => scope.set(key, evaluate(otherwise, scope)));
  }
  const [unknown] = rest.keys();
  if (unknown !== undefined) throw new Error(`${name} has no argument ${unknown}`);
  for (const set of defaults) set();
}

function callWithBody(node: CallStatement, scope: Scope, out: Output): Value {
  const { callee, args } = node.call;
  const body = block('caller', node.callerArgs ?? [], node.body, scope, out);
  if ((callee as Identifier).value === GENERATION) return body.call([], new Map());
  const [given, keywords] = evaluateArguments(args, scope);
  return callable(callee, scope).call(given, new Map([...keywords, ['caller', body]]));
}
