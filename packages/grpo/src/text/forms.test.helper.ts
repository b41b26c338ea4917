import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Tokenizer } from './tokenizer.js';

type Json = Record<string, unknown>;

/** Fixture of `parity/make_form_fixtures.py`: what is hashed is written there. */
interface Forms {
  block: number;
  models: Record<string, Json>;
  forms: Record<
    string,
    {
      /** Whether all strings are compared, or every third; `without` those at these places. */
      all: boolean;
      without: number[];
      definition: Json & { model: { name: string; flags: Json } };
      hashes: Record<Measure, string>;
    }
  >;
  /** SentencePiece's own files, in base64. */
  files: Record<string, { model: string; without: number[]; hashes: Record<'ids' | 'decoded', string> }>;
}
export type Measure = 'ids' | 'withSpecials' | 'decoded' | 'skipped' | 'single' | 'drawn';

const fixture = <T>(name: string) =>
  JSON.parse(
    gunzipSync(
      readFileSync(new URL(`../../../../parity/fixtures/text/${name}.json.gz`, import.meta.url)),
    ).toString(),
  ) as T;
const { block, models, ...rest } = fixture<Forms>('forms');
export const { forms, files } = rest;
export const { strings: all } = fixture<{ strings: string[] }>('strings');
/** Every third string, with all that hold white space which not everybody takes for such. */
export const third = all.filter((text, i) => i % 3 === 0 || /[\ufeff\u0085]/.test(text));

/** Writes the tokenizer files of a form into a folder. */
export function writeForm(name: string, dir: string): void {
  const { model, ...parts } = forms[name]!.definition;
  const content = { ...parts, model: { ...models[model.name], ...model.flags } };
  writeFileSync(join(dir, 'tokenizer.json'), JSON.stringify(content));
  const single = (parts.post_processor as { single?: { SpecialToken?: { id: string } }[] } | null)?.single;
  writeFileSync(
    join(dir, 'tokenizer_config.json'),
    JSON.stringify({ bos_token: single?.[0]?.SpecialToken?.id ?? null }),
  );
}

/** The tokenizer of a form, read from a folder. */
export function loadForm(name: string): Tokenizer {
  const dir = mkdtempSync(join(tmpdir(), 'grpo-form-'));
  try {
    writeForm(name, dir);
    return Tokenizer.load(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** The first block of strings for which `ours` is something else, with what it is there; undefined when all are equal. */
export function firstOther<T>(strings: readonly string[], ours: readonly T[], theirs: string): unknown {
  for (let start = 0; start < ours.length; start += block) {
    const part = ours.slice(start, start + block);
    const hash = createHash('sha256').update(JSON.stringify(part)).digest('hex').slice(0, 6);
    const at = (6 * start) / block;
    if (hash === theirs.slice(at, at + 6)) continue;
    return { block: start / block, strings: strings.slice(start, start + block), ours: part };
  }
  return theirs.length === 6 * Math.ceil(ours.length / block) ? undefined : 'the fixture has more';
}
