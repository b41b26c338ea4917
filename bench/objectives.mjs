// Trains the demo's model with each of several losses and writes docs/objectives.md: node bench/objectives.mjs [seeds] [name …]
// With names only these are trained, and the other rows of the page stay.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [seeds = 1, ...names] = process.argv.slice(2).map((word, i) => (i === 0 ? Number(word) : word));
const grpo = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'grpo-objectives-'));
const run = (...args) =>
  execFileSync(process.execPath, [grpo, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });

// As in the demo: a teacher who forgets carries, then rewards.
const COMMON = [
  'task.name=arithmetic',
  'optimizer.beta2=0.99',
  'optimizer.warmupSteps=10',
  'rollout.maxNewTokens=40',
  'eval.before=false',
  'eval.samples=1',
];
const SFT = ['sft.steps=700', 'sft.batchSize=32', 'sft.learningRate=3e-3', 'optimizer.schedule=cosine'];
const STEPS = 120;
const GRPO = [
  `train.steps=${STEPS}`,
  'optimizer.learningRate=2e-4',
  'rollout.prompts=16',
  'rollout.group=16',
  'doctor.onFinding=warn',
];
const REUSE = ['objective.oldLogprobs=sampler', 'objective.minibatches=2'];

// Where a ratio matters, there are two updates a rollout. The learning rate is that of the demo unless a form needs its own.
const ARMS = [
  { name: 'dapo', settings: ['objective.loss=dapo'] },
  { name: 'grpo', settings: ['objective.loss=grpo'] },
  { name: 'bnpo', settings: ['objective.loss=bnpo'] },
  { name: 'dr_grpo', settings: ['objective.loss=dr_grpo', 'advantage.scale=none'] },
  { name: 'gspo', settings: ['objective.loss=gspo', ...REUSE] },
  { name: 'cispo', settings: ['objective.loss=cispo', ...REUSE] },
  { name: 'sapo', settings: ['objective.loss=sapo', ...REUSE] },
  { name: 'vespo', settings: ['objective.loss=vespo', ...REUSE] },
  { name: 'luspo', settings: ['objective.loss=luspo', ...REUSE] },
  { name: 'gmpo', settings: ['objective.loss=gmpo', 'objective.clipLow=0.4', ...REUSE] },
  { name: 'reinforce_with_baseline', settings: ['objective.loss=reinforce_with_baseline'] },
  { name: 'no_baseline', settings: ['objective.loss=no_baseline'] },
  {
    name: 'reinforce_sum, leave-one-out',
    settings: ['objective.loss=reinforce_sum', 'advantage.baseline=leave_one_out', 'advantage.scale=none'],
  },
  { name: 'maxrl', settings: ['objective.loss=dapo', 'advantage.scale=mean'] },
  { name: 'dppo_tv', settings: ['objective.loss=dppo_tv', ...REUSE] },
  { name: 'dppo_kl', settings: ['objective.loss=dppo_kl', ...REUSE] },
  { name: 'dapo, k3 in the loss, β 0.02', settings: ['objective.loss=dapo', 'kl.beta=0.02'] },
];

const evalOf = (output) =>
  JSON.parse(readFileSync(join(output, 'eval.jsonl'), 'utf8').trimEnd().split('\n').at(-1));
const metricsOf = (output) =>
  readFileSync(join(output, 'metrics.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const fixed = (value) => value.toFixed(3);
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
/** Accuracy of greedy answers. */
const accuracyOf = ({ greedy }) => greedy.accuracy;

const page = fileURLToPath(new URL('../docs/objectives.md', import.meta.url));
const rowsOf = (text) =>
  new Map(
    text.split('\n').flatMap((line) => (line.startsWith('| ') ? [[line.split('|')[1].trim(), line]] : [])),
  );
const earlier = names.length === 0 ? new Map() : rowsOf(readFileSync(page, 'utf8'));
const results = ARMS.filter(({ name }) => names.length === 0 || names.includes(name)).map((arm) => ({
  ...arm,
  before: [],
  after: [],
  reward: [],
}));
for (let seed = 0; seed < seeds; seed++) {
  const sft = join(folder, `sft-${seed}`);
  run('sft', `seed=${seed}`, `output=${sft}`, ...COMMON, ...SFT);
  for (const [i, arm] of results.entries()) {
    const output = join(folder, `arm-${seed}-${i}`);
    run(
      'train',
      `seed=${seed}`,
      `model=${join(sft, 'checkpoints/step-700')}`,
      `output=${output}`,
      ...COMMON,
      ...GRPO,
      ...arm.settings,
    );
    arm.before.push(accuracyOf(evalOf(sft)));
    arm.after.push(accuracyOf(evalOf(output)));
    const rows = metricsOf(output);
    arm.reward.push(rows.slice(-10).reduce((sum, row) => sum + row.reward, 0) / 10);
    console.log(seed, arm.name, fixed(arm.before.at(-1)), fixed(arm.after.at(-1)), fixed(arm.reward.at(-1)));
  }
}

const made = new Map(
  results.map(({ name, settings, before, after, reward }) => [
    name,
    `| ${name} | \`${settings.join(' ')}\` | ${fixed(median(before))} | ${fixed(median(after))} | ${fixed(median(reward))} |`,
  ]),
);
const table = ARMS.flatMap(({ name }) => made.get(name) ?? earlier.get(name) ?? []);
writeFileSync(
  page,
  `# Objectives that learn

The arithmetic of [the demo](demo.md), from the same model that learnt from a careless teacher, with other objectives:
${STEPS} steps of 16 problems × 16 answers each, the demo's optimizer and learning rate. Accuracy of greedy answers on 200
held-out problems before and after, and the mean reward of the last ten steps (1.1 is the most). It shows that each form
learns, not which is best: none was tuned, and ${seeds === 1 ? 'there is one seed' : `there are ${seeds} seeds (medians)`}.

| loss | settings | before | after | reward |
| ---- | -------- | ------ | ----- | ------ |
${table.join('\n')}

\`npx grpo explain\` with the same settings prints each as a formula. Made by \`node bench/objectives.mjs${seeds === 1 ? '' : ` ${seeds}`}\`.
`,
);
