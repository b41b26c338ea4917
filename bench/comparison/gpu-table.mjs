// The table of bench/gpu.sh: node gpu-table.mjs FOLDER, in which ours-MODEL.json and peer-MODEL.json lie.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Stages of ours that make up training; their seconds and rates give back the operations. */
const TRAINING = ['logprob', 'reference', 'backward'];

/** Speeds and rates of one model beside their goals. */
export function gpuRow(model, ours, peer) {
  const operations = ours.stages
    .filter(({ stage }) => TRAINING.includes(stage))
    .reduce((sum, { seconds, gflops }) => sum + seconds * gflops, 0);
  const composition = peer.generate_s_median + peer.train_s_median;
  const measured = [
    ['generation', peer.generate_s_median / ours.rollout_s_median, 5],
    ['training, of the matrix rate', operations / ours.train_s_median / peer.matmul_gflops, 0.4],
    ['step', composition / ours.step_s_median, 4],
  ];
  const share = (value, goal) => (goal < 1 ? `${(100 * value).toFixed(0)} %` : `${value.toFixed(2)} ×`);
  return [
    model,
    ...[ours.rollout_s_median, peer.generate_s_median, ours.train_s_median, peer.train_s_median].map((s) =>
      s.toFixed(3),
    ),
    ...measured.map(([, value, goal]) => `${share(value, goal)} (≥ ${share(goal, goal)})`),
    measured
      .filter(([, value, goal]) => !(value >= goal))
      .map(([name]) => name)
      .join(', ') || 'none',
  ];
}

const header = [
  'model',
  'rollout, s',
  'generate, s',
  'training, s',
  'plain training, s',
  'generation',
  'training, of the matrix rate',
  'step',
  'goals missed',
];

export function gpuTable(folder) {
  const read = (side, model) => JSON.parse(readFileSync(join(folder, `${side}-${model}.json`), 'utf8'));
  const models = readdirSync(folder).flatMap((name) => /^ours-(.*)\.json$/.exec(name)?.[1] ?? []);
  const rows = models.sort().map((model) => gpuRow(model, read('ours', model), read('peer', model)));
  const { device_name, versions, matmul_gflops, workload } = read('peer', models[0]);
  const lines = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${device_name}, torch ${versions.torch}, transformers ${versions.transformers}; bfloat16 products at ${(matmul_gflops / 1000).toFixed(1)} TFLOP/s
${workload.prompts} prompts × ${workload.group} completions, ${workload.prompt_len} + ${workload.completion_len} tokens, micro-batches of ${workload.micro} completions

${lines.join('\n')}`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(gpuTable(process.argv[2]));
