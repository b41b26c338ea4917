/**
 * On-policy distillation beside SFT on the teacher's completions, at equal samples, prompts, batches and updates: a tiny
 * student of a tiny teacher, on sums of two numbers.
 *
 * node bench/distill.mjs --teacher FOLDER --student FOLDER [--steps 8,32,64] [--seeds 5]
 *
 * docs/distillation.md says how both were made. Both arms are shown at the same learning rates; a seed draws other problems.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { defineTask, loadModel, plainSampling, sample, sft, train } from '../packages/grpo/dist/index.js';
import { uniform } from '../packages/grpo/dist/maths/random.js';

const { values } = parseArgs({
  options: {
    teacher: { type: 'string' },
    student: { type: 'string' },
    steps: { type: 'string', default: '8,32,64' },
    seeds: { type: 'string', default: '5' },
  },
});
const { teacher, student } = values;
if (!teacher || !student) throw new Error('--teacher and --student take folders that npm run demo left');
const [sizes, seeds] = [values.steps.split(',').map(Number), Number(values.seeds)];
const RATES = [1e-4, 3e-4, 1e-3];
const [PROMPTS, GROUP, LENGTH] = [16, 4, 40];
const optimizer = { beta2: 0.99, warmupSteps: 5 };

const folder = mkdtempSync(join(tmpdir(), 'distill-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
let made = 0;
const output = () => join(folder, `run-${made++}`);

// In an order of their own; the first are held out.
const pairs = Array.from({ length: 90 * 90 }, (_, i) => ({ a: 10 + Math.floor(i / 90), b: 10 + (i % 90) }))
  .map((pair, i) => ({ pair, key: uniform(1, i) }))
  .sort((one, other) => one.key - other.key)
  .map(({ pair }) => pair);
const [held, rest] = [pairs.slice(0, 400), pairs.slice(400)];

const answerOf = (completion) => /<answer>(\d+)<\/answer>/.exec(completion)?.[1];
const isCorrect = (completion, { a, b }) => Number(answerOf(completion)) === a + b;
const taskOf = (rows) =>
  defineTask({
    name: 'sums',
    rows,
    evalRows: held,
    prompt: ({ a, b }) => `${a}+${b}=`,
    isCorrect,
    rewards: { right: (completion, row) => Number(isCorrect(completion, row)) },
    demonstration: ({ text }) => text,
  });
const evaluation = { before: false, limit: held.length, samples: 4 };

/** Completions by the teacher: so many of each row. */
async function teacherSamples(rows, seed) {
  const model = loadModel(teacher);
  try {
    const requests = rows.map(({ a, b }, i) => ({
      ids: model.tokenizer.encode(`${a}+${b}=`),
      count: GROUP,
      keys: [i],
    }));
    const options = { ...plainSampling, maxNewTokens: LENGTH, lotBytes: 2 ** 28 };
    const groups = await sample(model, requests, options, seed);
    return groups.flatMap((group, i) => group.map(({ text }) => ({ ...rows[i], text })));
  } finally {
    model.decoder.dispose();
  }
}

/** Trains, and evaluates on the pairs that are held out: accuracy of the greedy completion, and of samples. */
async function trained(verb, options) {
  let found;
  await verb({
    output: output(),
    onNote: () => {},
    onEvaluation: (result) => {
      found = [result.greedy.accuracy, result.sampled.accuracy];
    },
    ...options,
  });
  return found;
}

const ARMS = {
  "SFT on the teacher's samples": ({ seed, rate, steps, samples }) =>
    trained(sft, {
      model: student,
      task: taskOf(samples),
      settings: {
        ...{ seed, eval: evaluation, optimizer },
        sft: { steps, batchSize: PROMPTS * GROUP, learningRate: rate },
      },
    }),
  'on-policy distillation': ({ seed, rate, steps, own }) =>
    trained(train, {
      model: student,
      task: taskOf(own),
      settings: {
        ...{ seed, eval: evaluation, preset: 'distill', teacher: { model: teacher } },
        rollout: { prompts: PROMPTS, group: GROUP, maxNewTokens: LENGTH },
        optimizer: { ...optimizer, learningRate: rate },
        train: { steps },
      },
    }),
};

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const percent = (share) => (100 * share).toFixed(1);
const cell = (runs) => [0, 1].map((i) => percent(median(runs.map((run) => run[i])))).join(' · ');
const table = [];
for (const steps of sizes) {
  const found = Object.fromEntries(Object.keys(ARMS).map((arm) => [arm, RATES.map(() => [])]));
  // The first thousand rows were looked at while this was written.
  for (let seed = 2; seed < 2 + seeds; seed++) {
    const own = rest.slice(seed * 1000, seed * 1000 + steps * PROMPTS);
    const samples = await teacherSamples(own, seed);
    for (const [arm, run] of Object.entries(ARMS))
      for (const [i, rate] of RATES.entries())
        found[arm][i].push(await run({ seed, rate, steps, own, samples }));
    console.error(steps, seed, JSON.stringify(found));
  }
  for (const arm in ARMS) table.push([steps * PROMPTS * GROUP, steps, arm, ...found[arm].map(cell)]);
}

console.log(
  `${cpus()[0].model}; ${held.length} held-out problems, greedy · sampled, medians of ${seeds} seeds, %`,
);
console.log(`| samples | updates | arm | ${RATES.join(' | ')} |`);
console.log(`| --- | --- | --- | ${RATES.map(() => '---').join(' | ')} |`);
for (const row of table) console.log(`| ${row.join(' | ')} |`);
