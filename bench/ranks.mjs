// What a run loses to several processes: node bench/ranks.mjs [--steps 6] [--times 2] [--models tiny,middle]
// The same run by one process of one thread, one of two, and two of one each, which take turns. Each number is the median
// over the steps but the first. `wait` is what rank 0 waits for the other, `sum` the sum of the gradients. Below: how
// far the weights are from those of one process of one thread, in which a sum of another order shows.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from '../packages/grpo/dist/maths/quantile.js';
import { loadModel, writeRandomWeights } from '../packages/grpo/dist/models/index.js';
import { writeArithmeticModelFiles } from '../packages/grpo/dist/tasks/arithmetic/arithmetic-model.js';

const { values: options } = parseArgs({
  options: {
    steps: { type: 'string', default: '6' },
    times: { type: 'string', default: '2' },
    models: { type: 'string', default: 'tiny,middle' },
  },
});

/** Shapes of models, and the settings of a step of some seconds. */
const MODELS = {
  tiny: {
    shape: {},
    settings: ['rollout.prompts=16', 'rollout.group=8', 'rollout.maxNewTokens=48'],
  },
  middle: {
    shape: { hiddenSize: 512, heads: 8, layers: 8, intermediateSize: 2048 },
    settings: ['rollout.prompts=8', 'rollout.group=4', 'rollout.maxNewTokens=48'],
  },
};

const RUNS = {
  '1 process, 1 thread': { processes: 1, threads: 1 },
  '1 process, 2 threads': { processes: 1, threads: 2 },
  '2 processes, 1 thread each': { processes: 2, threads: 1 },
};

const command = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'ranks-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
// Random weights solve nothing: any difference of rewards will do.
const reward = join(folder, 'reward.mjs');
writeFileSync(
  reward,
  'export default ({ completionIds }) => completionIds.map((ids) => ids.filter((id) => id % 2 === 0).length / ids.length);',
);

/** Takes the steps, and returns the seconds of each step and stage. */
function train(model, output, { processes, threads }, settings) {
  const args = [
    command,
    'train',
    ...[
      'task.name=arithmetic',
      `rewards=[{module: ${reward}}]`,
      `model=${model}`,
      `output=${output}`,
      `threads=${threads}`,
    ],
    ...[
      'eval.before=false',
      'eval.limit=1',
      'eval.samples=0',
      'doctor.onFinding=off',
      'doctor.every=0',
      'record.every=0',
    ],
    ...['train.canaries=0', `train.steps=${options.steps}`, 'rollout.invariant=true', ...settings],
    ...(processes > 1 ? ['--processes', String(processes)] : []),
  ];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`grpo ${args.slice(1).join(' ')} ended with ${status}:\n${stderr}`);
  const rows = readFileSync(join(output, 'timings.jsonl'), 'utf8').trim().split('\n');
  return rows.slice(1).map((row) => JSON.parse(row));
}

function weightsOf(output) {
  const { decoder } = loadModel(join(output, 'checkpoints', `step-${options.steps}`), { dtype: 'float32' });
  const weights = [...decoder.parameters.values()].map((tensor) => tensor.toTypedArray());
  decoder.dispose();
  return weights;
}

/** ‖a − b‖ / ‖b‖ over all tensors. */
function distance(a, b) {
  let [difference, size] = [0, 0];
  for (const [t, values] of b.entries()) {
    for (const [i, value] of values.entries()) {
      difference += (a[t][i] - value) ** 2;
      size += value ** 2;
    }
  }
  return Math.sqrt(difference / size);
}

const STAGES = ['sample', 'score', 'logprob', 'backward', 'wait', 'sum', 'update'];

for (const name of options.models.split(',')) {
  const { shape, settings } = MODELS[name];
  const model = join(folder, name);
  await writeArithmeticModelFiles(model, shape);
  writeRandomWeights(model, 0);
  const rows = Object.fromEntries(Object.keys(RUNS).map((run) => [run, []]));
  const outputs = {};
  for (let time = 0; time < Number(options.times); time++) {
    for (const [run, on] of Object.entries(RUNS)) {
      outputs[run] = join(folder, `${name}-${time}-${on.processes}-${on.threads}`);
      rows[run].push(...train(model, outputs[run], on, settings));
    }
  }
  const first = weightsOf(Object.values(outputs)[0]);
  const header = [name, 'step, s', ...STAGES, 'rest', 'weights'];
  const cells = Object.entries(rows).map(([run, own]) => {
    const of = (key) => median(own.map((row) => row[key] ?? 0));
    const stages = STAGES.map((stage) => of(`seconds/${stage}`));
    const rest = of('step_time') - stages.reduce((sum, seconds) => sum + seconds, 0);
    const far = distance(weightsOf(outputs[run]), first);
    return [
      run,
      ...[of('step_time'), ...stages, rest].map((seconds) => seconds.toFixed(3)),
      far.toExponential(1),
    ];
  });
  for (const line of [header, header.map(() => '---'), ...cells]) console.log(`| ${line.join(' | ')} |`);
  console.log();
}
