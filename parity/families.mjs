/**
 * Holds every causal family of `fixtures/models` to what transformers computed, and prints the table of docs/models.md.
 *
 *     node parity/families.mjs [--write]      after a build; --write puts the table into the page
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SafetensorsFile } from '../packages/grpo/dist/formats/safetensors.js';
import { loadModel } from '../packages/grpo/dist/models/folder/load.js';
import { packSegments } from '../packages/grpo/dist/models/pack-segments.js';
import { parameterSpecs } from '../packages/grpo/dist/models/parameters.js';
import { plainSampling } from '../packages/grpo/dist/rollout/completion.js';
import { sample } from '../packages/grpo/dist/rollout/sampler.js';
import { noGrad, tensor, tidy } from '../packages/torch/dist/index.js';

const fixtures = fileURLToPath(new URL('fixtures/models/', import.meta.url));
const page = fileURLToPath(new URL('../docs/models.md', import.meta.url));
const [BEGIN, END] = ['<!-- begin: parity/families.mjs -->', '<!-- end: parity/families.mjs -->'];

const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
const furthest = (a, b) => a.reduce((far, x, i) => Math.max(far, Math.abs(x - b[i])), 0);

/** Packs the prompts, and gives the logits `[N, V]` with the row of each prompt's first token. */
function forward({ decoder }, prompts) {
  const packed = packSegments(
    prompts.map((ids) => ({ ids })),
    decoder.config,
    decoder.device,
  );
  return { logits: decoder.logits(decoder.hidden(packed, packed.attend)), starts: packed.starts };
}

function logitsDistance(model, { prompts }, stored) {
  return noGrad(() =>
    tidy(() => {
      const { logits, starts } = forward(model, prompts);
      const distances = prompts.map((ids, i) =>
        furthest(logits.narrow(0, starts[i], ids.length).toTypedArray(), stored(`logits.${i}`)),
      );
      return most(distances);
    }),
  );
}

/** The largest |ours − theirs| / |theirs| of a parameter's gradient, in Euclidean norms. */
function gradientDistance(model, { prompts, predictedTokens }, stored) {
  const { decoder } = model;
  for (const parameter of decoder.parameters.values()) parameter.requiresGrad = true;
  tidy(() => {
    const { logits, starts } = forward(model, prompts);
    const logprobs = logits.logSoftmax(-1);
    const int64 = (values) => tensor(values, undefined, { dtype: 'int64' });
    const parts = prompts
      .map((ids, i) => [ids, starts[i]])
      .filter(([ids]) => ids.length > 1)
      .map(([ids, start]) => {
        const rows = logprobs.narrow(0, start, ids.length - 1);
        return rows.gather(1, int64(ids.slice(1)).unsqueeze(1)).sum();
      });
    parts
      .reduce((a, b) => a.add(b))
      .div(-predictedTokens)
      .backward();
  });
  const distances = [...parameterSpecs(decoder.config)].map(([name, { transposed }]) => {
    const { grad } = decoder.parameters.get(name);
    const ours = (transposed ? grad.t() : grad).contiguous().toTypedArray();
    const theirs = stored(`grad.${name}`);
    return Math.hypot(...ours.map((x, i) => x - theirs[i])) / Math.hypot(...theirs);
  });
  return most(distances);
}

async function greedyTokens(model, { prompts, greedy }) {
  const options = { ...plainSampling, temperature: 0, maxNewTokens: greedy[0].length };
  const endless = { ...model, endIds: new Set() };
  const requests = prompts.map((ids, i) => ({ ids, count: 1, keys: [0, i] }));
  const groups = await sample(endless, requests, options, 0);
  const pairs = groups.flatMap(([{ ids }], i) => greedy[i].map((token, t) => ids[t] === token));
  return `${pairs.filter(Boolean).length} of ${pairs.length}`;
}

const rows = [];
for (const name of readdirSync(fixtures).sort()) {
  const folder = join(fixtures, name);
  let expected;
  try {
    expected = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'));
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    continue;
  }
  // Masked-diffusion models and copies have no greedy tokens, bf16 ones no gradients.
  if (!expected.greedy || expected.loss === undefined) continue;
  const file = SafetensorsFile.open(join(folder, 'expected.safetensors'));
  const stored = (tensorName) => new Float32Array(file.read(tensorName).slice().buffer);
  const model = loadModel(folder);
  const [least] = Object.entries(expected.effects ?? {}).sort(([, a], [, b]) => a - b);
  rows.push([
    `\`${name}\``,
    logitsDistance(model, expected, stored).toExponential(1),
    gradientDistance(model, expected, stored).toExponential(1),
    await greedyTokens(model, expected),
    least ? `${least[1].toFixed(1)} (${least[0]})` : '',
  ]);
  file.close();
  model.decoder.dispose();
}
const { transformers, torch } = JSON.parse(readFileSync(join(fixtures, 'gemma3/expected.json'), 'utf8'));
const table = [
  ['fixture', 'logits', 'gradients', 'greedy tokens', 'least feature'],
  ['---', '---', '---', '---', '---'],
  ...rows,
].map((cells) => `| ${cells.join(' | ')} |`);
const text = `transformers ${transformers}, PyTorch ${torch} in float64, ours in float32, on the CPU.\n\n${table.join('\n')}`;
console.log(text);
if (process.argv.includes('--write')) {
  const whole = readFileSync(page, 'utf8');
  const [before, after] = [whole.indexOf(BEGIN), whole.indexOf(END)];
  if (before < 0 || after < 0) throw new Error(`${page} has no place for the table`);
  writeFileSync(page, `${whole.slice(0, before + BEGIN.length)}\n\n${text}\n\n${whole.slice(after)}`);
}
