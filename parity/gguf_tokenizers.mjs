/**
 * Tokenizers in GGUF, held to node-llama-cpp: of every form of fixtures/text/forms.json.gz a tiny model is exported, and the
 * ids of all strings of strings.json.gz are compared, or the refusal is shown. DIR is that of gguf.mjs.
 *
 *     node parity/gguf_tokenizers.mjs DIR      after `npm run build`; prints one line a form
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { exportGguf } from '../packages/grpo/dist/export/index.js';
import { openModelFolder } from '../packages/grpo/dist/models/index.js';
import { Tokenizer } from '../packages/grpo/dist/text/tokenizer.js';
import { openLlama, writeModel } from './gguf_models.mjs';

const root = process.argv[2];
if (!root) throw new Error('usage: node parity/gguf_tokenizers.mjs DIR');
const llama = await openLlama(root);
const fixture = (name) =>
  JSON.parse(
    gunzipSync(
      readFileSync(fileURLToPath(new URL(`fixtures/text/${name}.json.gz`, import.meta.url))),
    ).toString(),
  );
const { forms, models } = fixture('forms');
const { strings } = fixture('strings');
const sizes = {
  ...{ model_type: 'llama', hidden_size: 32, intermediate_size: 32, num_hidden_layers: 1 },
  ...{
    num_attention_heads: 2,
    num_key_value_heads: 2,
    max_position_embeddings: 64,
    tie_word_embeddings: true,
  },
};

/** Pieces of Gemma's kind that SentencePiece finds before it merges; its converter lists them as added tokens. */
const USER_DEFINED = ['<musing>', '</musing>', '\n\n', '\u2581\u2581', 'the'];

/** An added token that no merges make, which no file of Gemma's has. */
const UNMERGED = '\u2581\u2581\u2581\u2581';

/** The forms; once more without looking words up before merging, and with the pieces of Gemma as its converter has them. */
function* allForms() {
  for (const [name, { definition }] of Object.entries(forms)) {
    yield [name, definition];
    if ({ ...models[definition.model.name], ...definition.model.flags }.ignore_merges) {
      const flags = { ...definition.model.flags, ignore_merges: false };
      yield [`${name}, merges not ignored`, { ...definition, model: { ...definition.model, flags } }];
    }
    if (definition.model.name !== 'bpe across words') continue;
    const { vocab } = models[definition.model.name];
    const known = new Set(definition.added_tokens.map(({ content }) => content));
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: false };
    const added = USER_DEFINED.filter((content) => content in vocab && !known.has(content));
    const tokens = added.map((content) => ({ id: vocab[content], content, ...flags }));
    const kept = definition.added_tokens.filter(({ content }) => content !== UNMERGED);
    const all = [...kept, ...tokens].sort((a, b) => a.id - b.id);
    yield [
      `${name}, pieces as added tokens`,
      { ...definition, added_tokens: all.map((token) => (token.id > 622 ? { ...token, id: 622 } : token)) },
    ];
  }
}

for (const [name, definition] of allForms()) {
  const { model, ...parts } = definition;
  const dir = join(root, 'forms', name.replaceAll(' ', '-'));
  const json = (file, content) => writeFileSync(join(dir, file), JSON.stringify(content));
  const content = { ...parts, model: { ...models[model.name], ...model.flags } };
  const vocabulary = content.model.vocab;
  const rows =
    (Array.isArray(vocabulary) ? vocabulary.length : Object.keys(vocabulary).length) +
    parts.added_tokens.length;
  writeModel(dir, { ...sizes, vocab_size: rows }, { eos_token_id: 2 });
  json('tokenizer.json', content);
  const bos = parts.post_processor?.single?.[0]?.SpecialToken?.id ?? null;
  json('tokenizer_config.json', { bos_token: bos });
  const path = join(dir, 'model.gguf');
  try {
    const { notes } = exportGguf(openModelFolder(dir), path);
    const loaded = await llama.loadModel({ modelPath: path });
    const tokenizer = Tokenizer.load(dir);
    const others = strings.flatMap((text) => {
      const [ours, theirs] = [tokenizer.encode(text), [...loaded.tokenize(text, true)]];
      return ours.join() === theirs.join() ? [] : [{ text, ours, theirs }];
    });
    json('others.json', others);
    console.log(`${name}: ${strings.length - others.length} of ${strings.length} equal ${notes.join(' ')}`);
    await loaded.dispose();
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
