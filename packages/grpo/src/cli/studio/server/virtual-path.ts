import { Refusal } from '../../../http/refusal.js';

/** Whether a name in a folder stays in that folder, on every system. */
export const isName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);

/**
 * Reads the path of a request: `path=/runs/a%20b` → `['runs', 'a b']`; the root has no names.
 *
 * @param query - the part of the URL after `?`
 * @throws Refusal for anything but one path of plain names
 */
export function namesIn(query: string): string[] {
  const paths = query.split('&').filter((part) => part.startsWith('path='));
  if (paths.length !== 1) throw new Refusal(400, 'One path is needed: ?path=/NAME/FILE');
  const path = decode(paths[0]!.slice('path='.length));
  if (path === '/') return [];
  const [root, ...names] = path.split('/');
  if (root !== '' || names.length === 0 || !names.every(isName))
    throw new Refusal(400, 'The path is not one of plain names, each after a slash.');
  return names;
}

/** @throws Refusal for bytes that are not UTF-8, where a lenient reader would put others in their place */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new Refusal(400, 'The path is not percent-encoded UTF-8.');
  }
}

/** The path of names, as the page writes it. */
export const pathOf = (names: readonly string[]): string => `/${names.join('/')}`;
