/**
 * Models exported as GGUF, held to node-llama-cpp. For each architecture: a random model of several layers is written and
 * exported in each type; token ids of all strings of fixtures/text/strings.json.gz and next-token log-probs on the same ids
 * are compared with ours. The files stay in DIR for check_gguf.py.
 *
 *     npm install --prefix DIR --ignore-scripts --no-optional node-llama-cpp @node-llama-cpp/linux-x64
 *     node parity/gguf.mjs DIR [ARCHITECTURE...]      after `npm run build`; prints one JSON line a file
 *
 * The bound of a type is three times what rounding the weights to it does to our own decoder: llama.cpp rounds the other
 * factor of each product to the same type, too, and keeps keys and values in float16. In f32 nothing is rounded but the
 * sums, in float32: the bound is 1e-4; where the activation is GELU, which llama.cpp takes from a table of float16, 1e-2.
 */
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { exportGguf, exportTypes } from '../packages/grpo/dist/export/index.js';
import { loadModel, openModelFolder, packSegments } from '../packages/grpo/dist/models/index.js';
import { noGrad, tidy } from '../packages/torch/dist/index.js';
import { cases } from './gguf_cases.mjs';
import { openLlama, writeModel } from './gguf_models.mjs';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const [root, ...wanted] = process.argv.slice(2);
if (!root) throw new Error('usage: node parity/gguf.mjs DIR [ARCHITECTURE...]');
const llama = await openLlama(root);
const { strings } = JSON.parse(gunzipSync(readFileSync(join(fixtures, 'text/strings.json.gz'))).toString());

const SEQUENCES = 2;
const LENGTH = 48;
/** Of tokens that are less likely, the log-prob says nothing that shows in a text. */
const LEAST_LOGPROB = Math.log(1e-4);

function logprobsOf(decoder, ids) {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], decoder.config, 'cpu');
      return decoder.logits(decoder.hidden(packed, packed.attend)).logSoftmax(-1).toTypedArray();
    }),
  );
}

/** A tensor's values as a type holds them. */
function rounded(tensor, type) {
  if (type === 'f16') return tensor.to('float16').to('float32');
  if (type === 'bf16') return tensor.to('bfloat16').to('float32');
  if (type === 'f32' || tensor.size(-1) % 32 !== 0) return tensor.to('float16').to('float32');
  const blocks = tensor.reshape([-1, 32]);
  const scale = blocks.abs().amax([-1], true).div(127);
  // Below 128: the sum with 1.5 × 2^23 has no room for a fraction.
  const whole = blocks.div(scale.add(1e-30)).add(12582912).sub(12582912);
  return whole.mul(scale.to('float16').to('float32')).reshape(tensor.shape);
}

/** What rounding the matrices does to the log-probs of our decoder. */
function roundingEffect(dir, type, sequences, exact) {
  if (type === 'f32') return 0;
  const { decoder } = loadModel(dir);
  noGrad(() => {
    for (const [name, parameter] of decoder.parameters)
      if (parameter.shape.length === 2 && !/wpe/.test(name))
        tidy(() => parameter.copy_(rounded(parameter, type)));
  });
  const worst = Math.max(...sequences.map((ids, i) => largest(exact[i], logprobsOf(decoder, ids))));
  decoder.dispose();
  return worst;
}

/** The largest difference of log-probs, among tokens that are not unlikely. */
function largest(ours, theirs) {
  let worst = 0;
  for (const [i, logprob] of ours.entries())
    if (logprob > LEAST_LOGPROB) worst = Math.max(worst, Math.abs(theirs[i] - logprob));
  return worst;
}

/** Log-probs of every next token of a sequence, by llama.cpp. */
async function llamaLogprobs(sequence, ids, vocabulary) {
  await sequence.clearHistory();
  const steps = await sequence.controlledEvaluate(
    ids.map((id) => [id, { generateNext: { probabilities: true } }]),
  );
  const found = new Float64Array(ids.length * vocabulary).fill(-Infinity);
  for (const [i, { next }] of steps.entries())
    for (const [id, probability] of next.probabilities) found[i * vocabulary + id] = Math.log(probability);
  return found;
}

/** Strings whose ids differ, with both. */
function compareIds(model, tokenizer) {
  return strings.flatMap((text) => {
    const [ours, theirs] = [tokenizer.encode(text), [...model.tokenize(text, true)]];
    return ours.join() === theirs.join() ? [] : [{ text, ours, theirs }];
  });
}

for (const [name, { tokenizer, config, generation }] of Object.entries(cases)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const dir = join(root, 'models', name);
  writeModel(dir, config, generation);
  cpSync(join(fixtures, tokenizer), dir, { recursive: true });
  const ours = loadModel(dir);
  const { vocabSize, activation } = ours.decoder.config;
  const sequences = Array.from({ length: SEQUENCES }, (_, s) =>
    Array.from({ length: LENGTH }, (_, i) => (7919 * (s + 1) * (i + 1) + 31 * i * i) % 250),
  );
  const exact = sequences.map((ids) => logprobsOf(ours.decoder, ids));
  for (const type of exportTypes) {
    const path = join(root, 'gguf', `${name}-${type}.gguf`);
    mkdirSync(join(root, 'gguf'), { recursive: true });
    const { bytes, notes } = exportGguf(openModelFolder(dir), path, { type });
    const model = await llama.loadModel({ modelPath: path });
    const cache = type === 'f32' ? 'F32' : 'F16';
    const context = await model.createContext({
      ...{ contextSize: 256, sequences: 1, threads: 1, flashAttention: false },
      ...{ experimentalKvCacheKeyType: cache, experimentalKvCacheValueType: cache },
    });
    const sequence = context.getSequence();
    let [logprob, probability] = [0, 0];
    for (const [i, ids] of sequences.entries()) {
      const theirs = await llamaLogprobs(sequence, ids, vocabSize);
      logprob = Math.max(logprob, largest(exact[i], theirs));
      for (const [j, x] of exact[i].entries())
        probability = Math.max(probability, Math.abs(Math.exp(theirs[j]) - Math.exp(x)));
    }
    const exactBound = activation === 'silu' ? 1e-4 : 1e-2;
    const bound = exactBound + 3 * roundingEffect(dir, type, sequences, exact);
    const others = type === 'f32' ? compareIds(model, ours.tokenizer) : undefined;
    if (others) writeFileSync(join(root, `${name}-ids.json`), JSON.stringify(others, null, 1));
    const ids = others && `${strings.length - others.length} of ${strings.length} equal`;
    console.log(
      JSON.stringify({
        name,
        type,
        bytes,
        logprob,
        bound,
        within: logprob <= bound,
        probability,
        ids,
        notes,
      }),
    );
    await context.dispose();
    await model.dispose();
  }
  ours.decoder.dispose();
}
