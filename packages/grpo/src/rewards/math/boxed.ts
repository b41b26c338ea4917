/**
 * Content of the last `\boxed{…}` of a text, its braces balanced; `\fbox{…}` counts, and `\boxed 5` up to the next `$`.
 * Null without one, and where its brace is never closed. Takes time linear in the text.
 */
export function lastBoxed(text: string): string | null {
  const at = Math.max(text.lastIndexOf('\\boxed'), text.lastIndexOf('\\fbox'));
  if (at < 0) return null;
  const after = at + (text.startsWith('\\boxed', at) ? '\\boxed' : '\\fbox').length;
  if (text[after] === ' ') {
    const end = text.indexOf('$', after);
    const rest = text.slice(after + 1, end < 0 ? undefined : end);
    if (!rest.trimStart().startsWith('{')) return rest.trim() || null;
  }
  const open = text.indexOf('{', after);
  if (open < 0 || text.slice(after, open).trim() !== '') return null;
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '{') depth++;
    else if (text[i] === '}' && --depth === 0) return text.slice(open + 1, i);
  }
  return null;
}
