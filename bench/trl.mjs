// Ours and TRL on the same work, in turn: npm run bench:trl -- [--times 5] [--only tiny,gpt2,seed-7] [--steps N] [--write]
// seed-N is work that the seed draws. --sides ours leaves TRL out.
// Each finished run is a line of a log, so that an interrupted comparison goes on; --fresh begins anew. --from FILE runs
// nothing and only shows what a log says. --write makes docs/benchmarks.md of it.

import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cpuLevels } from '../packages/torch/dist/index.js';
import { page, tables } from './comparison/page.mjs';
import { trlPython } from './comparison/python.mjs';
import { flagsOf, workloadOf, workloads } from './comparison/workloads.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const { values: options } = parseArgs({
  options: {
    times: { type: 'string', default: '5' },
    steps: { type: 'string' },
    threads: { type: 'string', default: '2' },
    only: { type: 'string', default: workloads.map(({ name }) => name).join(',') },
    log: { type: 'string', default: here('../runs/bench-trl.jsonl') },
    from: { type: 'string' },
    sides: { type: 'string', default: 'trl,ours' },
    fresh: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});

const wholeNumber = (key) => {
  const value = Number(options[key]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${key} takes a whole number from 1, found ${options[key]}`);
  return value;
};
const [times, threads] = ['times', 'threads'].map(wholeNumber);
const given = options.steps === undefined ? undefined : wholeNumber('steps');
// Steps of a second or less differ by half from one to the next.
const chosen = options.only.split(',').map((name) => {
  const workload = workloadOf(name);
  return { ...workload, steps: given ?? (workload.flags.model === 'tiny' ? 9 : 4) };
});

const readLog = (file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** The last line that a command prints, which is its result. */
function measure(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    cwd: here('..'),
  });
  if (error) throw error;
  if (status !== 0)
    throw new Error(`${[command, ...args].join(' ')} ended with ${status}:\n${stderr.slice(-2000)}`);
  return JSON.parse(stdout.trimEnd().split('\n').at(-1));
}

/** The processor with its family and model: rented machines tell "AMD EPYC" of several generations. */
function processorName() {
  const [{ model }] = cpus();
  if (process.platform !== 'linux') return model;
  const about = readFileSync('/proc/cpuinfo', 'utf8');
  const [family, number] = [/^cpu family\s*: (\d+)/m, /^model\s*: (\d+)/m].map((one) => one.exec(about)?.[1]);
  return family === undefined ? model : `${model} ${family}.${number}`;
}

function compare(log) {
  if (options.fresh) rmSync(log, { force: true });
  mkdirSync(dirname(log), { recursive: true });
  const done = existsSync(log) ? readLog(log) : [];
  const runs = {
    trl: (flags) => measure(trlPython(), [here('trl_grpo.py'), ...flags]),
    ours: (flags) =>
      measure(process.execPath, [here('../packages/grpo/bin/grpo.js'), 'bench', '--json', ...flags]),
  };
  const commit = spawnSync('git', ['describe', '--always', '--dirty'], { encoding: 'utf8', cwd: here('..') });
  const sides = options.sides.split(',').map((side) => {
    if (!Object.hasOwn(runs, side)) throw new Error(`--sides takes trl, ours or both, found ${side}`);
    return side;
  });
  const setting = {
    threads,
    machine: `${processorName()} (${cpuLevels().highest}), ${cpus().length} cores`,
    node: process.versions.node,
    commit: commit.stdout?.trim() || 'unknown',
  };
  // Round by round, so that what is there when it is stopped is of all workloads.
  for (let round = 1; round <= times; round++) {
    for (const { name, flags, steps } of chosen) {
      for (const side of sides) {
        const isSame = (row) =>
          row.workload === name &&
          row.side === side &&
          row.round === round &&
          row.steps === steps &&
          row.threads === threads;
        if (done.some(isSame)) continue;
        const before = { at: new Date().toISOString(), load: loadavg()[0] };
        const result = runs[side](flagsOf({ ...flags, steps, threads }));
        appendFileSync(
          log,
          `${JSON.stringify({ workload: name, side, round, steps, ...before, ...setting, result })}\n`,
        );
        console.error(
          `${name}, round ${round} of ${times}, ${side}: step ${result.step_s_median.toFixed(3)} s, rollout ${result.rollout_s_median.toFixed(3)} s, ${result.peak_rss_mb.toFixed(0)} MB`,
        );
      }
    }
  }
  // Runs with other settings are of another comparison.
  const asked = ({ workload, steps }) => chosen.some((one) => one.name === workload && one.steps === steps);
  return readLog(log).filter((row) => asked(row) && row.threads === threads && row.round <= times);
}

const rows = options.from ? readLog(options.from) : compare(options.log);
const { ratios, sides, stages } = tables(rows);
console.log(`${ratios}\n\n${sides}\n\n${stages}`);
if (options.write) writeFileSync(here('../docs/benchmarks.md'), page(rows));
