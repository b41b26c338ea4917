// What the doctor says of healthy runs: node bench/clean.mjs SEED STEPS [LEVEL]
// Draws runs by SEED until they have had STEPS steps: a preset or a form of the objective, and settings beside it; family,
// precision and policy, which doubts or is certain; adapters, threads, a resume in the middle. Each step is audited. LEVEL
// caps the CPU's instructions (`grpo env`). Prints the false findings, and of each hand-over the largest deviation beside
// its bound. Exit code 1 where a check failed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveConfig, UserError } from '../packages/grpo/dist/config/index.js';
import { presets } from '../packages/grpo/dist/config/presets/index.js';
import { cleanRuns } from '../packages/grpo/dist/lab/clean-runs.js';
import { disposePolicies, labPolicy } from '../packages/grpo/dist/lab/lab-policy.js';
import { lettersTask } from '../packages/grpo/dist/lab/letters-task.js';
import { writeLabText } from '../packages/grpo/dist/lab/model-files.js';
import { uniform } from '../packages/grpo/dist/maths/random.js';
import { saveModel } from '../packages/grpo/dist/models/index.js';
import { openRun } from '../packages/grpo/dist/run/open-run.js';
import { trainGrpo } from '../packages/grpo/dist/run/train-grpo.js';
import { atLevel } from '../packages/torch/dist/levels.test.helper.js';

const [seed, wanted] = process.argv.slice(2).map(Number);
const level = process.argv[4];
if (level && process.env.GRPO_CPU_LEVEL !== level) {
  const argv = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, argv, {
    stdio: 'inherit',
    env: { ...process.env, ...atLevel(level) },
  });
  process.exit(status ?? 1);
}

const STEPS = 6;
const SMALL = [
  ...['rollout.prompts=4', 'rollout.group=4', 'rollout.maxNewTokens=12', 'optimizer.learningRate=1e-3'],
  ...['device=cpu', 'eval.before=false', 'eval.samples=0', 'eval.limit=1', 'checkpoint.minutes=0'],
  ...['doctor.every=1', 'doctor.onFinding=stop', 'record.every=1'],
];
/** Largest sizes of a preset that are left to it; its form stays. */
const LARGEST = {
  'optimizer.warmupSteps': 2,
  'kl.warmupSteps': 2,
  'objective.minibatches': 4,
  'groups.overlongBuffer': 4,
};
const PRESETS = Object.entries(presets).map(([name, { values }]) => ({
  name,
  settings: [
    `preset=${name}`,
    ...Object.entries(LARGEST).flatMap(([key, most]) =>
      values[key]?.value > most ? [`${key}=${most}`] : [],
    ),
  ],
  // Some draw from another distribution than is trained, and some have k1 in the loss, where its expected gradient is 0.
  explained: { 'B19.truncation': true, 'B19.surprise': true, 'B48.in-loss': true },
}));

/** Each is drawn by itself: no form foresees which of them meet. */
const BESIDE = [
  'rollout.topP=0.7',
  'rollout.topK=3',
  'rollout.minP=0.05',
  'rollout.temperature=0.6',
  'rollout.repetitionPenalty=1.2',
  'rollout.minNewTokens=3',
  'groups.refills=1',
  'advantage.flat=drop',
  'kl.beta=0.05 kl.estimator=full',
  'kl.beta=0.2',
  'entropy.coefficient=0.01',
  'entropy.topShare=0.3',
  'objective.oldLogprobs=sampler',
  'objective.oldLogprobs=recompute objective.iterations=2',
  'objective.minibatches=2',
  'objective.maskTruncated=true',
  'train.microBatchTokens=60',
  'train.recompute=layers',
  'optimizer.maxGradNorm=0.05',
  'optimizer.learningRate=3e-6',
];
const SHARE = 0.12;
/** What the doctor rightly warns of where sampling leaves out tokens or moves their probability. */
const OTHERWISE_DRAWN = ['B19.truncation', 'B19.surprise', 'B39.gap'];

const root = mkdtempSync(join(tmpdir(), 'grpo-clean-'));

/** A run, drawn by the seed and its place. */
function drawn(index) {
  const pick = (list, feature) => list[Math.floor(uniform(seed, index, feature) * list.length)];
  const run = pick([PRESETS, cleanRuns(seed)][index % 2], 0);
  const family = run.policy?.family ?? pick(['gpt2', 'llama', 'qwen2', 'qwen3'], 1);
  const dtype = run.policy?.dtype ?? pick(['float32', 'bfloat16'], 2);
  const lora = pick([[], [], ['lora.rank=4', 'optimizer.learningRate=1e-2']], 3);
  const threads = pick([1, 2, 3, 4, 8, 16, 64], 4);
  const policy = {
    ...run.policy,
    family,
    seed: Math.floor(uniform(seed, index, 5) * 3),
    steps: pick([90, 90, 600], 7),
  };
  const beside = BESIDE.filter((_, i) => uniform(seed, index, 8 + i) < SHARE).flatMap((own) =>
    own.split(' '),
  );
  return { run, policy, dtype, lora, threads, beside, resumeAfter: pick([0, 0, STEPS / 2], 6), index };
}

/** The folder of a policy, made once. */
const folders = new Map();
async function modelOf(policy) {
  const key = JSON.stringify(policy);
  if (!folders.has(key)) {
    const dir = join(root, `model-${folders.size}`);
    await writeLabText(dir, policy.padIsEnd ? '<|end|>' : '<pad>');
    saveModel(await labPolicy({ ...policy, dtype: 'float32' }), dir);
    folders.set(key, dir);
  }
  return folders.get(key);
}

/** Does a run, or the rest of it, as the command does. */
async function part({ run, policy, dtype, lora, threads, beside, index }, output, { resume, stopAfter }) {
  const task = run.task ?? lettersTask();
  const interrupt = new AbortController();
  const resolved = resolveConfig({
    command: 'train',
    env: {},
    code: { task: task.name, rewards: task.rewards.map(({ name, weight }) => ({ name, weight })) },
    settings: [
      ...[...SMALL, ...(run.settings ?? []), ...lora, ...beside],
      ...[`model=${await modelOf(policy)}`, `output=${output}`, `dtype=${dtype}`, `threads=${threads}`],
      ...[`seed=${seed + index}`, `train.steps=${Math.max(STEPS, run.steps ?? 0)}`],
    ],
  });
  const session = await openRun(resolved, {
    task,
    resume,
    signal: interrupt.signal,
    watcher: { step: ({ step }) => step === stopAfter && interrupt.abort() },
  });
  try {
    const { stopped } = await trainGrpo(session);
    return { stopped, steps: session.progress.step };
  } finally {
    await session[Symbol.asyncDispose]();
  }
}

const rowsOf = (file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

const worst = new Map();
let steps = 0;
let runs = 0;
const findings = { fail: 0, warn: 0 };
const refused = [];
for (let index = 0; steps < wanted; index++) {
  const trial = drawn(index);
  const { run, policy, dtype, lora, threads, beside, resumeAfter } = trial;
  const learnt = `${policy.steps} steps of imitation`;
  const name = [
    run.name,
    policy.family,
    learnt,
    dtype,
    ...lora.slice(0, 1),
    ...beside,
    `${threads} threads`,
  ].join(', ');
  const output = join(root, 'run');
  const tell = ({ code, severity, measured }, step) => {
    const isOtherwise = beside.some((setting) => setting.startsWith('rollout.'));
    if (severity === 'warn' && (run.explained?.[code] || (isOtherwise && OTHERWISE_DRAWN.includes(code))))
      return;
    findings[severity]++;
    console.log(`${severity} ${code} at step ${step} of ${name}: ${JSON.stringify(measured)}`);
  };
  try {
    let end = await part(trial, output, { stopAfter: resumeAfter });
    if (resumeAfter > 0 && !end.stopped) end = await part(trial, output, { resume: true });
    steps += end.steps;
    runs++;
    process.stderr.write(`${steps} of ${wanted} steps: ${name}\n`);
    if (end.steps === 0) {
      tell(end.stopped, 0);
      continue;
    }
    const told = new Set();
    for (const finding of rowsOf(join(output, 'findings.jsonl'))) {
      if (finding.severity === 'inform' || told.has(finding.code)) continue;
      told.add(finding.code);
      tell(finding, finding.step);
    }
    for (const folder of readdirSync(join(output, 'steps'))) {
      const { audit } = JSON.parse(readFileSync(join(output, 'steps', folder, 'step.json'), 'utf8'));
      for (const { handOver, quantity, compared, deviation, bound } of audit?.comparisons ?? []) {
        const share = deviation === 0 ? 0 : deviation / bound;
        const known = worst.get(handOver) ?? { compared: 0, share: -1 };
        const mine = share > known.share ? { share, quantity, name } : known;
        worst.set(handOver, { ...mine, compared: known.compared + compared });
      }
    }
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    refused.push(`${name}: ${error.message}`);
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}
await disposePolicies();
rmSync(root, { recursive: true, force: true });

console.log(`\nhand-over       compared  most of its bound`);
for (const [handOver, { compared, share, quantity, name }] of worst)
  console.log(
    `${handOver.padEnd(14)} ${String(compared).padStart(9)}  ${share.toFixed(3)}  ${quantity} (${name})`,
  );
console.log(
  `\nSeed ${seed}${level ? ` at level ${level}` : ''}: ${findings.fail} false failures and ${findings.warn} false warnings in ${steps} steps of ${runs} runs.`,
);
for (const text of new Set(refused)) console.log(`Not a run: ${text}`);
process.exitCode = findings.fail > 0 ? 1 : 0;
