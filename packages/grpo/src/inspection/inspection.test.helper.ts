import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll } from 'vitest';
import { type Family, fixtureFolder } from '../text/fixtures.test.data.js';
import { Tokenizer } from '../text/tokenizer.js';

const modelFixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

/** Makes model folders without weights, which go when the tests of the file are done. */
export function inspectedFolders() {
  const root = mkdtempSync(join(tmpdir(), 'grpo-inspection-'));
  afterAll(() => rmSync(root, { recursive: true }));
  return {
    root,
    /** A family's configuration and tokenizer, and a template in place of its own. */
    folder(family: Family, template?: string, generation?: object): string {
      const dir = mkdtempSync(join(root, family));
      cpSync(fixtureFolder(family), dir, { recursive: true });
      const config = JSON.parse(readFileSync(join(modelFixture(family), 'config.json'), 'utf8')) as object;
      const { vocabSize, eosId } = Tokenizer.load(dir);
      const shape = { ...config, vocab_size: vocabSize, eos_token_id: eosId };
      writeFileSync(join(dir, 'config.json'), JSON.stringify(shape));
      if (template !== undefined) writeFileSync(join(dir, 'chat_template.jinja'), template);
      if (generation) writeFileSync(join(dir, 'generation_config.json'), JSON.stringify(generation));
      return dir;
    },
    /** A masked-diffusion model. */
    maskedFolder(generation: object): string {
      const dir = mkdtempSync(join(root, 'masked'));
      cpSync(modelFixture('a2d-qwen3'), dir, { recursive: true });
      writeFileSync(join(dir, 'generation_config.json'), JSON.stringify(generation));
      return dir;
    },
  };
}

const turn = (role: string, words: string) => `'<|turn|>' ~ ${role} ~ '<|says|>\\n' ~ ${words} ~ '<|/turn|>'`;

/** Parts of Jinja templates: the turns of all messages, and the header that opens an answer. */
export const TURNS = `{% for one in messages %}{{ ${turn('one.role', 'one.content')} }}{% endfor %}`;
export const OPEN = "{% if add_generation_prompt %}{{ '<|turn|>assistant<|says|>\\n' }}{% endif %}";

/** Takes the system message out of the messages: `said`, empty where there is none. */
const SAID =
  "{% set said = messages[0].content if messages[0].role == 'system' else '' %}{% if messages[0].role == 'system' %}{% set messages = messages[1:] %}{% endif %}";

/** A template that writes its BOS, and a system turn with the day, whether there is a message for it or not. */
export const DATED = `{{ bos_token }}${SAID}{{ ${turn(
  "'system'",
  "'Today Date: ' ~ (date_string or strftime_now('%d %b %Y')) ~ '\\n\\n' ~ said",
)} }}${TURNS}${OPEN}`;

/** A template that writes the system message into the user's turn. */
export const MERGED = `${SAID}{{ ${turn("'user'", "(said ~ '\\n' if said else '') ~ messages[0].content")} }}${OPEN}`;
