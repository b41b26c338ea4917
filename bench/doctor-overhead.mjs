// What records and checks cost, as a share of a step: node bench/doctor-overhead.mjs [rounds]
// Runs with every record kept and all checks, and runs with neither, take turns; processor time, so that others on the
// machine count little.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveConfig } from '../packages/grpo/dist/config/index.js';
import { writeTinyModel } from '../packages/grpo/dist/library/index.js';
import { defineTask } from '../packages/grpo/dist/tasks/define.js';
import { openSession, trainGrpo } from '../packages/grpo/dist/train/index.js';

const rounds = Number(process.argv[2] ?? 4);
const STEPS = 8;
/** The first two are recorded whatever is set. */
const FROM = 3;

const task = (length) =>
  defineTask({
    name: 'even',
    rows: Array.from({ length: 64 }, (_, i) => String(i).padStart(length, '. ')),
    prompt: (row) => row,
    rewards: {
      even: (text) => [...text].filter((char) => char.charCodeAt(0) % 2 === 0).length / (text.length || 1),
    },
    evalSize: 1,
  });

const WORK = {
  'the demo: 0.4 M parameters, 16 × 16, 6 + 40 tokens': {
    size: {},
    length: 6,
    settings: ['rollout.prompts=16', 'rollout.group=16', 'rollout.maxNewTokens=40'],
  },
  '12 M parameters, 8 × 8, 64 + 64 tokens': {
    size: { hiddenSize: 512, layers: 4, heads: 8, intermediateSize: 1408 },
    length: 64,
    settings: ['rollout.prompts=8', 'rollout.group=8', 'rollout.maxNewTokens=64'],
  },
  'the same with β and two updates a rollout': {
    size: { hiddenSize: 512, layers: 4, heads: 8, intermediateSize: 1408 },
    length: 64,
    settings: [
      'rollout.prompts=8',
      'rollout.group=8',
      'rollout.maxNewTokens=64',
      'kl.beta=0.05',
      'objective.oldLogprobs=recompute',
      'objective.minibatches=2',
    ],
  },
};
const MODES = {
  all: ['record.every=1', 'doctor.onFinding=warn'],
  none: ['record.every=0', 'doctor.onFinding=off'],
};

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

/** Milliseconds of processor time of each step after the first ones. */
async function stepTimes(folder, model, length, settings) {
  const own = task(length);
  const resolved = resolveConfig({
    command: 'train',
    env: {},
    code: { task: own.name, rewards: [{ name: 'even', weight: 1 }] },
    settings: [
      `model=${model}`,
      `output=${folder}`,
      `train.steps=${STEPS}`,
      'eval.before=false',
      'eval.samples=0',
      ...settings,
    ],
  });
  const times = [];
  let before = process.cpuUsage();
  const session = await openSession(resolved, {
    task: own,
    watcher: {
      step({ step }) {
        const { user, system } = process.cpuUsage(before);
        if (step >= FROM) times.push((user + system) / 1000);
        before = process.cpuUsage();
      },
    },
  });
  before = process.cpuUsage();
  try {
    await trainGrpo(session);
  } finally {
    await session[Symbol.asyncDispose]();
  }
  return times;
}

const root = mkdtempSync(join(tmpdir(), 'grpo-overhead-'));
try {
  for (const [name, { size, length, settings }] of Object.entries(WORK)) {
    const model = await writeTinyModel(join(root, name.replace(/\W/g, '-')), size);
    const ratios = [];
    const without = [];
    for (let round = 0; round < rounds; round++) {
      const times = {};
      // Now one first, now the other.
      const order = round % 2 === 0 ? ['all', 'none'] : ['none', 'all'];
      for (const mode of order) {
        const folder = join(root, mode);
        times[mode] = await stepTimes(folder, model, length, [...settings, ...MODES[mode]]);
        rmSync(folder, { recursive: true });
      }
      // The same step of the same run, with and without.
      ratios.push(...times.all.map((time, i) => time / times.none[i]));
      without.push(...times.none);
    }
    console.log(
      `${name}: ${median(without).toFixed(0)} ms a step, ${(100 * (median(ratios) - 1)).toFixed(1)} % more with all`,
    );
  }
} finally {
  rmSync(root, { recursive: true });
}
