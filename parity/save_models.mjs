/**
 * Saves models with saveModel, and beside each the logits that it had before: DIR/<name>/logits.safetensors with
 * `ids.<i>` [L] and `logits.<i>` [L, V], in float32 arithmetic whatever the weights are stored as.
 *
 *     node parity/save_models.mjs DIR      after `npm run build`
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeSafetensors } from '../packages/grpo/dist/formats/safetensors.js';
import { OwningDecoder } from '../packages/grpo/dist/models/decoder.js';
import { loadModel } from '../packages/grpo/dist/models/folder/load.js';
import { saveModel } from '../packages/grpo/dist/models/folder/save.js';
import { initDecoder } from '../packages/grpo/dist/models/init.js';
import { packSegments } from '../packages/grpo/dist/models/pack-segments.js';
import { noGrad, tidy } from '../packages/torch/dist/index.js';

const fixtures = fileURLToPath(new URL('fixtures/models/', import.meta.url));
const out = process.argv[2];
if (!out) throw new Error('usage: node parity/save_models.mjs DIR');

/** The architectures once as made, in float32 and bf16, once with random weights of our own. */
function* models() {
  for (const name of readdirSync(fixtures).sort()) {
    // The folder with nothing but a configuration is no model.
    if (!existsSync(join(fixtures, name, 'tokenizer.json'))) continue;
    const model = loadModel(join(fixtures, name));
    yield [name, model];
    if (name.includes('-')) continue;
    const { config } = model.decoder;
    yield [`${name}-init`, { ...model, decoder: initDecoder(config, { seed: 1, std: 0.2 }) }];
    yield [
      `${name}-init-bf16`,
      { ...model, decoder: initDecoder(config, { seed: 2, std: 0.2, dtype: 'bfloat16' }) },
    ];
  }
}

/** Ids of unequal lengths that reach every row of the vocabulary. */
const sequences = (vocab) =>
  [1, 5, 17, 100].map((L) => Array.from({ length: L }, (_, i) => (i * 97 + L) % vocab));

/** Logits [L, V] of each sequence as float32 arrays. */
function logitsOf({ config, parameters }, lists) {
  return noGrad(() =>
    tidy(() => {
      const copies = new Map([...parameters].map(([name, p]) => [name, p.to('float32')]));
      const wide = new OwningDecoder(config, copies);
      const packed = packSegments(
        lists.map((ids) => ({ ids })),
        config,
        'cpu',
      );
      const logits = wide.logits(wide.hidden(packed, packed.attend));
      return lists.map((ids, i) => logits.narrow(0, packed.starts[i], ids.length).toTypedArray());
    }),
  );
}

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

for (const [name, model] of models()) {
  const { vocabSize } = model.decoder.config;
  const lists = sequences(vocabSize);
  const logits = logitsOf(model.decoder, lists);
  saveModel(model, join(out, name));
  writeSafetensors(
    join(out, name, 'logits.safetensors'),
    lists.flatMap((ids, i) => [
      {
        name: `ids.${i}`,
        dtype: 'I64',
        shape: [ids.length],
        data: () => bytesOf(BigInt64Array.from(ids, BigInt)),
      },
      { name: `logits.${i}`, dtype: 'F32', shape: [ids.length, vocabSize], data: () => bytesOf(logits[i]) },
    ]),
  );
}
