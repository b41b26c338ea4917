// What records and checks cost, as a share of a step: node bench/doctor-overhead.mjs [rounds] [which]
// First the share that a profile of one run with all finds: exact to a tenth of a percent, on a busy machine too. With
// GRPO_THREADS=1 it is a share of all work; with more, of the time on the clock, which they shorten for the model only.
// Then runs with every record kept and all checks, and runs with neither, take turns: processor time, which others on the
// machine disturb by some percent.

import { mkdtempSync, rmSync } from 'node:fs';
import inspector from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveConfig } from '../packages/grpo/dist/config/index.js';
import { writeTinyModel } from '../packages/grpo/dist/library/index.js';
import { openRun } from '../packages/grpo/dist/run/open-run.js';
import { trainGrpo } from '../packages/grpo/dist/run/train-grpo.js';
import { defineTask } from '../packages/grpo/dist/tasks/define.js';

const rounds = Number(process.argv[2] ?? 2);
const which = process.argv[3] ?? '';
/** The first two are recorded whatever is set; of the 16 that follow, one is probed. */
const FROM = 3;
const STEPS = 18;

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

/** What is done for records and checks, by file; nothing else is done in them. */
const PARTS = {
  'probes.js': 'probes',
  'weight-sample.js': 'what weights changed',
  'update-trace.js': 'collecting',
  'step-record.js': 'putting together',
  'write.js': 'writing',
  'examination.js': 'checks',
};

/** Percent of the time that was profiled, by part. */
function sharesOf({ nodes, samples, timeDeltas }) {
  const parts = new Map();
  const place = (node, part) => {
    const { url, functionName } = node.callFrame;
    // The innermost of them: writing is part of the examination.
    const own = PARTS[url.split('/').at(-1)] ?? (url.includes('/dist/audit/') ? 'audits' : part);
    parts.set(node.id, functionName === '(idle)' ? undefined : own);
    for (const id of node.children ?? []) place(byId.get(id), own);
  };
  const byId = new Map(nodes.map((node) => [node.id, node]));
  place(nodes[0], 'step');
  const times = {};
  for (const [i, id] of samples.entries()) {
    const part = parts.get(id);
    if (part) times[part] = (times[part] ?? 0) + timeDeltas[i];
  }
  const total = Object.values(times).reduce((a, b) => a + b, 0);
  delete times.step;
  return Object.fromEntries(Object.entries(times).map(([part, time]) => [part, (100 * time) / total]));
}

/** Runs with all, profiled after the first steps. */
async function profile(folder, model, length, settings) {
  const session = new inspector.Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 250 });
    await stepTime(folder, model, length, settings, () => void session.post('Profiler.start'));
    const { profile } = await session.post('Profiler.stop');
    return sharesOf(profile);
  } finally {
    session.disconnect();
  }
}

/** Milliseconds of processor time a step, after the first ones; calls `begin` before these. */
async function stepTime(folder, model, length, settings, begin) {
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
  let total = 0;
  let before = process.cpuUsage();
  const session = await openRun(resolved, {
    task: own,
    watcher: {
      step({ step }) {
        const { user, system } = process.cpuUsage(before);
        if (step >= FROM) total += (user + system) / 1000;
        if (step === FROM - 1) begin?.();
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
  return total / (STEPS - FROM + 1);
}

const root = mkdtempSync(join(tmpdir(), 'grpo-overhead-'));
try {
  for (const [name, { size, length, settings }] of Object.entries(WORK)) {
    if (!name.includes(which)) continue;
    const model = await writeTinyModel(join(root, name.replace(/\W/g, '-')), size);
    const own = await profile(join(root, 'profiled'), model, length, [...settings, ...MODES.all]);
    rmSync(join(root, 'profiled'), { recursive: true });
    const sum = Object.values(own).reduce((a, b) => a + b, 0);
    const parts = Object.entries(own).map(([part, share]) => `${part} ${share.toFixed(2)}`);
    console.log(`${name}: ${sum.toFixed(2)} % of a step by profile: ${parts.join(', ')}`);
    if (rounds === 0) continue;
    const shares = [];
    const without = [];
    for (let round = 0; round < rounds; round++) {
      const time = {};
      // Now one first, now the other.
      const order = round % 2 === 0 ? ['all', 'none'] : ['none', 'all'];
      for (const mode of order) {
        const folder = join(root, mode);
        time[mode] = await stepTime(folder, model, length, [...settings, ...MODES[mode]]);
        rmSync(folder, { recursive: true });
      }
      shares.push(100 * (time.all / time.none - 1));
      without.push(time.none);
    }
    const each = shares.map((share) => share.toFixed(1)).join(', ');
    console.log(
      `  ${median(without).toFixed(0)} ms of processor time without, ${median(shares).toFixed(1)} % more with all (${each})`,
    );
  }
} finally {
  rmSync(root, { recursive: true });
}
