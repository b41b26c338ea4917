import type { Node } from './nodes.js';

/** Calls `visit` for every node at and below `root`. */
export function walk(root: unknown, visit: (node: Node) => void): void {
  if (typeof root !== 'object' || root === null) return;
  if ('type' in root) visit(root as Node);
  const children = root instanceof Map ? [...root].flat() : Object.values(root);
  for (const child of children) walk(child, visit);
}
