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
}
export type Measure = 'ids' | 'withSpecials' | 'decoded' | 'skipped' | 'single' | 'drawn';

const fixture = <T>(name: string) =>
  JSON.parse(
    gunzipSync(
      readFileSync(new URL(`../../../../parity/fixtures/text/${name}.json.gz`, import.meta.url)),
    ).toString(),
  ) as T;
export const { block, models, forms } = fixture<Forms>('forms');
export const { strings: all } = fixture<{ strings: string[] }>('strings');
/** Every third string, with all that hold white space which not everybody takes for such. */
export const third = all.filter((text, i) => i % 3 === 0 || /[\ufeff\u0085]/.test(text));

/** The tokenizer of a form, read from a folder. */
export function loadForm(name: string): Tokenizer {
  const { model, ...parts } = forms[name]!.definition;
  const dir = mkdtempSync(join(tmpdir(), 'grpo-form-'));
  const content = { ...parts, model: { ...models[model.name], ...model.flags } };
  writeFileSync(join(dir, 'tokenizer.json'), JSON.stringify(content));
  const single = (parts.post_processor as { single?: { SpecialToken?: { id: string } }[] } | null)?.single;
  writeFileSync(
    join(dir, 'tokenizer_config.json'),
    JSON.stringify({ bos_token: single?.[0]?.SpecialToken?.id ?? null }),
  );
  try {
    return Tokenizer.load(dir);
  } finally {
    rmSync(dir, { recursive: true });
  }
}
