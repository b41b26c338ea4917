/**
 * On-policy distillation beside SFT on the teacher's completions, at equal samples, prompts, batches and updates: a tiny
 * student of a tiny teacher, on sums of two numbers.
 *
 * node bench/distill.mjs --teacher FOLDER --student FOLDER [--steps 32] [--seeds 3]
 *
 * For both, models that `npm run demo` left: the teacher is what GRPO made (grpo/checkpoints/step-120), the student what it
 * began with (sft/checkpoints/step-700). Both arms are shown at the same three learning rates; a seed draws other problems.
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
    steps: { type: 'string', default: '32' },
    seeds: { type: 'string', default: '3' },
  },
});
const { teacher, student } = values;
if (!teacher || !student) throw new Error('--teacher and --student take folders that npm run demo left');
const [steps, seeds] = [Number(values.steps), Number(values.seeds)];
const RATES = [3e-4, 1e-3, 3e-3];
const [PROMPTS, GROUP, LENGTH] = [8, 8, 40];

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
const evaluation = { before: false, limit: held.length, samples: 0 };

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

/** Trains, and evaluates on the pairs that are held out. */
async function trained(verb, options) {
  let accuracy;
  await verb({
    output: output(),
    onNote: () => {},
    onEvaluation: (result) => {
      accuracy = result.greedy.accuracy;
    },
    ...options,
  });
  return accuracy;
}

const results = [];
for (let seed = 1; seed <= seeds; seed++) {
  const own = rest.slice(seed * 1000, seed * 1000 + steps * PROMPTS);
  const samples = await teacherSamples(own, seed);
  for (const rate of RATES) {
    const imitated = await trained(sft, {
      model: student,
      task: taskOf(samples),
      settings: {
        ...{ seed, eval: evaluation },
        sft: { steps, batchSize: PROMPTS * GROUP, learningRate: rate },
      },
    });
    const distilled = await trained(train, {
      model: student,
      task: taskOf(own),
      settings: {
        ...{ seed, eval: evaluation, preset: 'distill', teacher: { model: teacher } },
        rollout: { prompts: PROMPTS, group: GROUP, maxNewTokens: LENGTH },
        optimizer: { learningRate: rate },
        train: { steps },
      },
    });
    const result = { sft: imitated, distilled };
    results.push({ seed, rate, ...result });
    console.error(JSON.stringify(results.at(-1)));
  }
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const percent = (list) => list.map((share) => (100 * share).toFixed(1)).join(' / ');
const column = (name, rate) => results.filter((one) => one.rate === rate).map((one) => one[name]);
const best = (name) => percent([Math.max(...RATES.map((rate) => median(column(name, rate))))]);
console.log(
  `${cpus()[0].model}; ${steps * PROMPTS * GROUP} samples and ${steps} updates an arm, ${seeds} seeds`,
);
console.log("| learning rate | SFT on the teacher's samples, % | on-policy distillation, % |");
console.log('| --- | --- | --- |');
for (const rate of RATES)
  console.log(`| ${rate} | ${['sft', 'distilled'].map((name) => percent(column(name, rate))).join(' | ')} |`);
console.log(`medians at each arm's best rate: SFT ${best('sft')} %, distillation ${best('distilled')} %`);
