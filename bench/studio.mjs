// Time and memory of the page's requests on a large step: node bench/studio.mjs [COMPLETIONS] [TOKENS]
// Makes a run folder with one record of that many completions of that many tokens each (1,024 × 8,000 when not given), asks
// each request of a fresh process, and prints seconds and the largest resident memory of that process.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Studio } from '../packages/grpo/dist/studio/index.js';
import { writeStepRecord } from '../packages/grpo/dist/trace/index.js';

const [first = '1024', second = '8000', request] = process.argv.slice(2);
const GROUP = 8;
const REQUESTS = [
  ['step'],
  ['completion', { index: 700 }],
  ['tokenLosses', { index: 700, epsilonLow: 0.1 }],
  ...['gap', 'ratio', 'kl', 'loss', 'slope'].map((measure) => ['worstTokens', { measure, count: 50 }]),
  ['positions', { measure: 'gap' }],
  ['loss'],
  ['loss', { epsilonLow: 0.1, beta: 0.1 }],
  ['stepWhole'],
];

if (request?.includes('steps')) {
  writeStepRecord(request, recordOf(Number(first), Number(second)));
  process.exit();
}
if (request !== undefined) {
  const [name, input] = REQUESTS[Number(request)];
  const studio = new Studio([first]);
  const seconds = [];
  // The second time what a page has asked before is known.
  for (let round = 0; round < 2; round++) {
    const start = performance.now();
    await studio.answer(name, { run: first, step: 1, ...input });
    seconds.push(((performance.now() - start) / 1000).toFixed(2));
  }
  const most = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(
    `${`${name} ${JSON.stringify(input ?? {})}`.padEnd(48)}${seconds.join(' s, again ')} s, ${most} MiB`,
  );
  process.exit();
}

const run = join(mkdtempSync(join(tmpdir(), 'studio-')), 'run');
const folder = join(run, 'steps', '000001');
mkdirSync(folder, { recursive: true });
writeFileSync(join(run, 'config.json'), '{}');
// Asked with the memory of one who wrote the record, a process would seem to need as much.
const again = (...args) =>
  spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...args], { stdio: 'inherit' });
try {
  again(first, second, folder);
  const size = statSync(join(folder, 'step.safetensors')).size;
  console.log(`${first} completions of ${second} tokens: ${Math.round(size / 2 ** 20)} MiB`);
  for (const i of REQUESTS.keys()) again(run, '-', String(i));
} finally {
  rmSync(join(run, '..'), { recursive: true });
}

function recordOf(B, length) {
  const P = B / GROUP;
  const T = B * length;
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const floats = (of) => {
    const values = new Float32Array(T);
    for (let t = 0; t < T; t++) values[t] = of(t);
    return values;
  };
  const ids = new Int32Array(T).map(() => Math.floor(random() * 50_000));
  const lengths = new Int32Array(B).fill(length);
  const policy = floats(() => Math.log(random()));
  const old = floats((t) => policy[t] + 0.1 * (random() - 0.5));
  const reference = floats((t) => policy[t] + 0.5 * (random() - 0.5));
  const ratios = floats((t) => Math.exp(policy[t] - old[t]));
  const advantages = new Float64Array(B).map(() => random() - 0.5);
  const of = (t) => advantages[Math.floor(t / length)];
  const bounded = (ratio) => Math.max(0.8, Math.min(1.2, ratio));
  const words = ['the ', 'answer ', 'is ', 'so ', 'that ', 'we ', 'find ', '42 '];
  const texts = Array.from({ length: B }, () =>
    Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(''),
  );
  const pieces = Array.from({ length: 50_000 }, (_, id) => words[id % words.length]);
  const update = {
    policyLogprobs: policy,
    entropies: floats(() => random()),
    ratios,
    policyTerms: floats((t) => -Math.min(ratios[t] * of(t), bounded(ratios[t]) * of(t))),
    klTerms: floats((t) => {
      const d = reference[t] - policy[t];
      return Math.exp(d) - d - 1;
    }),
    weights: new Float32Array(T).fill(1 / T),
    loss: 0,
    gradNorm: 1,
  };
  const totals = new Float64Array(B).map(() => Math.round(random()));
  return {
    format: 'grpo-step',
    version: 3,
    step: 1,
    producer: { name: 'bench' },
    declared: {
      objective: { loss: 'dapo', clipLow: 0.2, clipHigh: 0.2, oldLogprobs: 'recompute' },
      kl: { beta: 0.05, estimator: 'k3' },
      advantage: { scale: 'none' },
      dtype: 'float32',
    },
    tokenizer: {
      vocabularySize: 50_000,
      specialTokens: { 0: '<s>' },
      pieces: {
        ids: new Int32Array(50_000).map((_, id) => id),
        bytes: Uint8Array.from(Buffer.from(pieces.join(''))),
        lengths: Int32Array.from(pieces, (piece) => piece.length),
      },
    },
    prompts: {
      texts: Array.from({ length: P }, (_, p) => `What is ${p}?`),
      ids: new Int32Array(P * 50).fill(7),
      lengths: new Int32Array(P).fill(50),
    },
    completions: {
      prompt: Int32Array.from({ length: B }, (_, b) => Math.floor(b / GROUP)),
      texts,
      sampledTexts: texts,
      finish: texts.map(() => 'length'),
      ids,
      lengths,
      samplerLogprobs: floats((t) => old[t] + 0.01 * (random() - 0.5)),
    },
    scored: {
      ids,
      lengths,
      mask: new Uint8Array(T).fill(1),
      oldLogprobs: old,
      referenceLogprobs: reference,
    },
    rewards: { names: ['right'], weights: [1], values: totals, totals },
    advantages,
    updates: [update],
  };
}
