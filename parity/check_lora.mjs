/**
 * Our side of check_lora.py. For each case in DIR: reads PEFT's adapter, compares logits and gradients, and writes
 * DIR/<case>/ours/ (an adapter of our own) and DIR/<case>/merged/ (the model with PEFT's), each with logits.safetensors.
 *
 *     node parity/check_lora.mjs DIR       after `npm run build`; prints one JSON line a case
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SafetensorsFile, writeSafetensors } from '../packages/grpo/dist/formats/safetensors.js';
import { loadModel } from '../packages/grpo/dist/models/folder/load.js';
import { saveModel } from '../packages/grpo/dist/models/folder/save.js';
import { mergeLora } from '../packages/grpo/dist/models/lora/merge-lora.js';
import { packSegments } from '../packages/grpo/dist/models/pack-segments.js';
import { Generator, noGrad, tensor, tidy } from '../packages/torch/dist/index.js';

const models = fileURLToPath(new URL('fixtures/models/', import.meta.url));
const root = process.argv[2];
if (!root) throw new Error('usage: node parity/check_lora.mjs DIR');

const bytesOf = (array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength);

/** Logits [L, V] of a sequence. */
function forward(decoder, ids) {
  const packed = packSegments([{ ids }], decoder.config, 'cpu');
  return decoder.logits(decoder.hidden(packed, packed.attend));
}
const logitsOf = (decoder, ids) => noGrad(() => tidy(() => forward(decoder, ids).toTypedArray().slice()));

/** Writes the folder of a model, with the logits that it has. */
function save(model, dir, sequences) {
  saveModel(model, dir);
  const { vocabSize } = model.decoder.config;
  const entries = sequences.flatMap((ids, i) => {
    const logits = logitsOf(model.decoder, ids);
    return [
      {
        name: `ids.${i}`,
        dtype: 'I64',
        shape: [ids.length],
        data: () => bytesOf(BigInt64Array.from(ids, BigInt)),
      },
      { name: `logits.${i}`, dtype: 'F32', shape: [ids.length, vocabSize], data: () => bytesOf(logits) },
    ];
  });
  writeSafetensors(join(dir, 'logits.safetensors'), entries);
}

const furthest = (a, b) => a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, v, i) => sum + v * y[i], 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** The gradient of the mean negative log-likelihood of every token but the first, as lora_cases.py takes it. */
function backward(decoder, sequences) {
  for (const parameter of decoder.trainable.values()) parameter.requiresGrad = true;
  tidy(() => {
    const sums = sequences.map((ids) =>
      forward(decoder, ids.slice(0, -1))
        .logSoftmax(-1)
        .gather(1, tensor(ids.slice(1), undefined, { dtype: 'int64' }).unsqueeze(1))
        .sum(),
    );
    const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0);
    sums
      .reduce((a, b) => a.add(b))
      .div(-tokens)
      .backward();
  });
}

for (const name of readdirSync(root).sort()) {
  const theirs = join(root, name, 'peft');
  const base = join(models, name);
  const expected = SafetensorsFile.open(join(theirs, 'expected.safetensors'));
  const floats = (key) => new Float32Array(expected.read(key).slice().buffer);
  const sequences = [0, 1].map((i) =>
    Array.from(new BigInt64Array(expected.read(`ids.${i}`).slice().buffer), Number),
  );

  const model = loadModel(base, { dtype: 'float32', lora: { adapter: theirs } });
  const differences = sequences.map((ids, i) =>
    furthest(logitsOf(model.decoder, ids), floats(`logits.${i}`)),
  );
  backward(model.decoder, sequences);
  const cosines = [...model.decoder.trainable].map(([matrix, { grad }]) =>
    cosine(grad.contiguous().toTypedArray(), floats(`grad.${matrix}`)),
  );
  const matrices = [...expected.tensors.keys()].filter((key) => key.startsWith('grad.')).length;
  console.log(
    JSON.stringify({
      name,
      matrices,
      allMatrices: cosines.length === matrices,
      logits: Math.max(...differences),
      cosine: Math.min(...cosines),
    }),
  );

  const own = loadModel(base, { dtype: 'float32', lora: { rank: 3, alpha: 7, seed: 1 } });
  const generator = new Generator(2);
  noGrad(() => {
    for (const [key, parameter] of own.decoder.trainable)
      if (key.endsWith('lora_B.weight')) parameter.normal_(0, 0.3, { generator });
  });
  save(own, join(root, name, 'ours'), sequences);
  save({ ...model, decoder: mergeLora(model.decoder) }, join(root, name, 'merged'), sequences);
}
