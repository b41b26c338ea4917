// A run of a real model that is killed in a rollout, in a save and in its last evaluation, and resumed each time, with its
// resident memory over time: node bench/real-size.mjs MODEL TRAIN.jsonl [--output DIR] [--steps 20] [key=value ...]
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { lineChart } from '../packages/grpo/dist/cli/demo/chart.js';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { output: { type: 'string' }, steps: { type: 'string', default: '20' } },
});
const [model, data, ...settings] = positionals;
if (!model || !data) throw new Error('usage: real-size.mjs MODEL TRAIN.jsonl [key=value ...]');
const steps = Number(options.steps);
const main = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));
const root = options.output ?? mkdtempSync(join(tmpdir(), 'grpo-real-size-'));
mkdirSync(root, { recursive: true });
const run = join(root, 'run');
// A model of random weights gets nothing right, and without rewards that differ no gradient would be there to go wrong.
const reward = join(root, 'reward.mjs');
writeFileSync(
  reward,
  `const points = (text) => [...text].reduce((sum, character) => sum + character.codePointAt(0), 0);
export default ({ completions }) => completions.map((text) => (points(text) % 7) / 7);
`,
);
const SAMPLE_MS = 500;
const LOOK_MS = 20;

const rowsOf = (name) => {
  const path = join(run, name);
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  return text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
};
const checkpoints = () => {
  const folder = join(run, 'checkpoints');
  return existsSync(folder) ? readdirSync(folder) : [];
};
const last = () => rowsOf('timings.jsonl').at(-1);

/** Each start of the run: when it is killed, counted in seconds from a condition. */
const STARTS = [
  {
    name: 'killed in a rollout',
    // Past the first checkpoint.
    after: () => rowsOf('metrics.jsonl').length > Math.ceil(steps / 4),
    seconds: () => last()['seconds/sample'] / 2,
  },
  {
    name: 'killed in a save',
    after: () => checkpoints().some((name) => name.startsWith('.tmp-')),
    seconds: () => 0.5,
  },
  {
    name: 'killed in the last evaluation',
    after: () => checkpoints().includes(`step-${steps}`),
    seconds: () => 5,
  },
  { name: 'ran to its end', after: () => false },
];

const memory = [];
const began = performance.now();
const lines = [];
for (const [index, { name, after, seconds }] of STARTS.entries()) {
  const args =
    index === 0
      ? [
          'train',
          `model=${model}`,
          `task.data=${data}`,
          'task.system=',
          `rewards=[{module: ${reward}}]`,
          'dtype=bfloat16',
          `train.steps=${steps}`,
          `checkpoint.every=${Math.ceil(steps / 4)}`,
          `output=${run}`,
          ...settings,
        ]
      : ['train', '--resume', run];
  const start = performance.now();
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let silent = 0;
  let heard = start;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output += text;
      silent = Math.max(silent, performance.now() - heard);
      heard = performance.now();
    });
  let code;
  child.on('close', (value, signal) => {
    code = value ?? signal;
  });
  let peak = 0;
  let due;
  const first = rowsOf('metrics.jsonl').length;
  for (let looks = 0; code === undefined; looks++) {
    const status = looks % (SAMPLE_MS / LOOK_MS) === 0 ? readProc(child.pid) : undefined;
    if (status) {
      memory.push({ at: (performance.now() - began) / 1000, resident: status.resident, start: index });
      peak = Math.max(peak, status.peak);
    }
    if (due === undefined && after()) due = performance.now() + 1000 * seconds();
    if (due !== undefined && performance.now() >= due) child.kill('SIGKILL');
    await sleep(LOOK_MS);
  }
  writeFileSync(join(root, `start-${index + 1}.txt`), output);
  lines.push(
    `${name}: steps ${first + 1} to ${rowsOf('metrics.jsonl').length}, ${((performance.now() - start) / 1000).toFixed(0)} s, ` +
      `at most ${(peak / 2 ** 30).toFixed(2)} GiB, silent for at most ${(silent / 1000).toFixed(0)} s, ended with ${code}`,
  );
  console.error(lines.at(-1));
  if (name === 'ran to its end' ? code !== 0 : code !== 'SIGKILL') throw new Error(output.slice(-3000));
}

/** Resident memory of a process now and at most, in bytes. */
function readProc(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    const field = (key) => 1024 * Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
    return { resident: field('VmRSS'), peak: field('VmHWM') };
  } catch (error) {
    // It has ended since.
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return undefined;
    throw error;
  }
}

const numbers = rowsOf('metrics.jsonl').map(({ step }) => step);
if (numbers.join() !== Array.from({ length: steps }, (_, i) => i + 1).join())
  throw new Error(`metrics.jsonl has the steps ${numbers}`);
const evaluations = rowsOf('eval.jsonl').map(({ step }) => step);
if (evaluations.join() !== `0,${steps}`) throw new Error(`eval.jsonl has the steps ${evaluations}`);
writeFileSync(join(root, 'memory.jsonl'), memory.map((row) => `${JSON.stringify(row)}\n`).join(''));
const series = memory.map(({ resident }) => resident / 2 ** 30);
console.log(
  [
    `${cpus()[0].model}, ${cpus().length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    ...lines,
    `Resident memory, GiB, every ${SAMPLE_MS / 1000} s:`,
    lineChart(series, { width: 100, height: 16, unit: 'sample' }),
  ].join('\n'),
);
