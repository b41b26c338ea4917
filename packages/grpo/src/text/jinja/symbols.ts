import type { Node } from './nodes.js';

/** Variables of a block at its own level; blocks within it have their own. */
export interface Symbols {
  /** Every name that it reads or sets. */
  names: ReadonlySet<string>;
  /** Names that it always sets before it reads them. */
  setFirst: ReadonlySet<string>;
}

const symbolsCache = new WeakMap<readonly Node[], Symbols>();

/**
 * Jinja decides before rendering which block a variable belongs to. A name that a block sets first is the block's
 * from its beginning on: blocks within it that come earlier find it undefined, not the one of the same name outside.
 */
export function symbolsOf(body: readonly Node[]): Symbols {
  const cached = symbolsCache.get(body);
  if (cached) return cached;
  const names = new Set<string>();
  const setFirst = new Set<string>();
  for (const node of body) visit(node, false);
  const symbols = { names, setFirst };
  symbolsCache.set(body, symbols);
  return symbols;

  function visit(node: unknown, conditional: boolean): void {
    if (typeof node !== 'object' || node === null) return;
    const each = (children: readonly unknown[]) => {
      for (const child of children) visit(child, conditional);
    };
    if (!('type' in node)) {
      each(node instanceof Map ? [...node].flat() : Object.values(node));
      return;
    }
    const typed = node as Node;
    switch (typed.type) {
      case 'Identifier':
        names.add(typed.value);
        break;
      case 'Set':
        visit(typed.value, conditional);
        store(typed.assignee, conditional);
        break;
      case 'For':
        visit(typed.iterable.type === 'SelectExpression' ? typed.iterable.lhs : typed.iterable, conditional);
        break;
      case 'Macro':
        store(typed.name, conditional);
        break;
      case 'CallStatement':
        visit(typed.call, conditional);
        break;
      case 'If':
        visit(typed.test, conditional);
        for (const child of [...typed.body, ...typed.alternate]) visit(child, true);
        break;
      case 'FilterStatement':
        if (typed.filter.type === 'CallExpression') each(typed.filter.args);
        break;
      case 'FilterExpression':
        visit(typed.operand, conditional);
        if (typed.filter.type === 'CallExpression') each(typed.filter.args);
        break;
      case 'TestExpression':
        visit(typed.operand, conditional);
        break;
      case 'MemberExpression':
        visit(typed.object, conditional);
        if (typed.computed) visit(typed.property, conditional);
        break;
      case 'KeywordArgumentExpression':
        visit(typed.value, conditional);
        break;
      default:
        each(Object.values(typed));
    }
  }

  function store(target: Node, conditional: boolean): void {
    if (target.type === 'TupleLiteral') for (const item of target.value) store(item, conditional);
    else if (target.type !== 'Identifier') visit(target, conditional);
    else if (!names.has(target.value)) {
      names.add(target.value);
      if (!conditional) setFirst.add(target.value);
    }
  }
}
