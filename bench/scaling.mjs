// What ten times the work costs: node bench/scaling.mjs [--times 3] [--prompts 2] [--completion-len 64] [--threads 2]
// Ten times the prompts, or tokens a completion, may take 11 times as long, and attention's share on top: the limit is
// 1.1 × the operations, in which attention is counted. Memory follows the micro-batch, not the batch. Each number is
// the median of fresh processes, which take turns.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { stageFlops } from '../packages/grpo/dist/lab/bench/flops.js';
import { benchModels } from '../packages/grpo/dist/lab/bench/workload.js';
import { median } from '../packages/grpo/dist/maths/quantile.js';
import { flagsOf } from './comparison/workloads.mjs';

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: 'tiny' },
    prompts: { type: 'string', default: '2' },
    group: { type: 'string', default: '8' },
    'prompt-len': { type: 'string', default: '64' },
    'completion-len': { type: 'string', default: '64' },
    steps: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
    times: { type: 'string', default: '3' },
  },
});
const { times, ...shape } = Object.fromEntries(
  Object.entries(options).map(([key, value]) => [key, key === 'model' ? value : Number(value)]),
);
const base = { ...shape, micro: shape.group };
const command = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));

function measure(flags) {
  const args = [command, 'bench', '--json', ...flagsOf(flags)];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`grpo ${args.slice(1).join(' ')} ended with ${status}:\n${stderr}`);
  return JSON.parse(stdout);
}

/** Operations of a step. */
function operations({ model, prompts, group, 'prompt-len': promptLength, 'completion-len': length }) {
  const work = { prompts, group, promptLength, beta: 0 };
  const stages = stageFlops(benchModels[model], work, Array(prompts * group).fill(length));
  return Object.values(stages).reduce((a, b) => a + b, 0);
}

const cases = {
  'one time': base,
  '10 × the prompts': { ...base, prompts: 10 * base.prompts },
  '10 × the tokens a completion': { ...base, 'completion-len': 10 * base['completion-len'] },
  '10 × the prompts, 4 × the micro-batch': { ...base, prompts: 10 * base.prompts, micro: 4 * base.micro },
};
const runs = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
for (let time = 0; time < times; time++)
  for (const [name, flags] of Object.entries(cases)) runs[name].push(measure(flags));

const of = (name, key) => median(runs[name].map((result) => result[key]));
const rows = Object.entries(cases).map(([name, flags]) => {
  const ratio = (key) => of(name, key) / of('one time', key);
  const limit = 1.1 * Math.max(1, operations(flags) / operations(base));
  const steps = ratio('step_s_median');
  return [
    name,
    `${flags.prompts} × ${flags.group}, ${flags['prompt-len']} + ${flags['completion-len']}, micro-batch ${flags.micro}`,
    of(name, 'step_s_median').toFixed(3),
    `${steps.toFixed(2)} ×`,
    name === 'one time' ? '' : `${limit.toFixed(2)} × ${steps <= limit ? 'kept' : 'exceeded'}`,
    `${ratio('rollout_s_median').toFixed(2)} ×`,
    of(name, 'peak_rss_mb').toFixed(0),
    `${ratio('peak_rss_mb').toFixed(2)} ×`,
  ];
});
const header = [
  'work',
  'prompts × group, tokens, completions',
  'step, s',
  'of one',
  'limit',
  'rollout',
  'peak memory, MB',
  'of one',
];
for (const cells of [header, header.map(() => '---'), ...rows]) console.log(`| ${cells.join(' | ')} |`);
