/** Lines of a TypeScript source, by places of what was compiled from it. */
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { fileURLToPath } from 'node:url';

/** The line of the source, from 1, that the text at an offset of a compiled module comes from; its own without a map. */
export function sourceLine({ url, text }: { url: string; text: string }, offset: number): number {
  const before = text.slice(0, offset).split('\n');
  const map = `${fileURLToPath(url)}.map`;
  if (!existsSync(map)) return before.length;
  const payload = JSON.parse(readFileSync(map, 'utf8')) as SourceMapPayload;
  const entry = new SourceMap(payload).findEntry(before.length - 1, before.at(-1)!.length);
  return 'originalLine' in entry ? entry.originalLine + 1 : before.length;
}
