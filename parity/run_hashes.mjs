// SHA-256 of every file that a dozen small runs leave, to show that a change of the code changes no run:
// node parity/run_hashes.mjs OUT.json writes them, node parity/run_hashes.mjs OUT.json OTHER.json compares two.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../packages/grpo/bin/grpo.js', import.meta.url));

const SHARED = ['threads=1', 'rollout.maxNewTokens=10', 'eval.limit=8', 'task.evalSize=8'];
const GRPO = [
  'train',
  ...SHARED,
  'task.name=arithmetic',
  'train.steps=3',
  'rollout.prompts=4',
  'rollout.group=4',
  'optimizer.learningRate=1e-3',
  'record.every=1',
];
/** By name: the command lines of a run, one after another in the same folder; FOLDER, ROOT and REWARD stand for paths. */
const RUNS = {
  sft: [
    ['sft', ...SHARED, 'task.name=arithmetic', 'sft.steps=4', 'sft.batchSize=8', 'sft.learningRate=1e-3'],
  ],
  grpo: [[...GRPO, 'REWARD']],
  'kl and reference': [[...GRPO, 'REWARD', 'kl.beta=0.05']],
  'several updates': [
    [
      ...GRPO,
      'REWARD',
      'objective.iterations=2',
      'objective.minibatches=2',
      'objective.oldLogprobs=recompute',
    ],
  ],
  'small micro-batches': [
    [...GRPO, 'REWARD', 'train.microBatchTokens=60', 'kl.beta=0.05', 'kl.estimator=full'],
  ],
  lora: [[...GRPO, 'REWARD', 'lora.rank=4', 'kl.beta=0.05']],
  'replay and refills': [
    [
      ...GRPO,
      'REWARD',
      'rollout.group=2',
      'groups.refills=1',
      'groups.replay=3',
      'objective.oldLogprobs=sampler',
    ],
  ],
  expert: [
    ['expert', ...SHARED, 'REWARD', 'task.name=arithmetic', 'expert.iterations=2', 'expert.threshold=1'],
  ],
  bfloat16: [[...GRPO, 'REWARD', 'dtype=bfloat16', 'kl.beta=0.05']],
  'moving reference': [
    [
      ...GRPO,
      'REWARD',
      'kl.beta=0.05',
      'kl.control=lagrangian',
      'kl.target=0.001',
      'kl.referenceEvery=2',
      'kl.referenceMix=0.5',
    ],
  ],
  entropy: [[...GRPO, 'REWARD', 'entropy.adaptive=true', 'entropy.target=3', 'train.canaries=2']],
  mix: [
    [
      'train',
      ...SHARED,
      'REWARD',
      'model=ROOT/grpo/model',
      'task.name=mix',
      'task.mix=[{name: arithmetic, share: 2}, {name: jsonl, data: ROOT/rows.jsonl, prompt: ROOT/prompt.txt}]',
      'train.steps=3',
      'rollout.prompts=3',
      'rollout.group=4',
      'record.every=1',
    ],
  ],
  resumed: [
    [...GRPO, 'REWARD', 'train.steps=2', 'kl.beta=0.05'],
    ['train', '--resume', 'FOLDER', 'train.steps=4'],
  ],
};
/** What the machine or the clock decides. */
const APART = new Set(['config.json', 'timings.jsonl']);

function files(folder, below = '') {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? files(folder, path) : [path];
  });
}

/** What is hashed of a file: without the seconds of the stages, and without the path of the folder that runs are in. */
function content(path, root) {
  const bytes = readFileSync(path);
  if (path.endsWith('safetensors')) return bytes;
  const text = bytes.toString().replaceAll(root, '');
  if (!path.endsWith('step.json')) return text;
  const { stages: _, ...record } = JSON.parse(text);
  return JSON.stringify(record);
}

function hashesOfRuns() {
  const root = mkdtempSync(join(tmpdir(), 'grpo-hashes-'));
  const reward = join(root, 'digits.js');
  writeFileSync(
    reward,
    'export default ({ completions }) => completions.map((text) => text.replace(/[^0-9]/g, "").length);\n',
  );
  const rows = Array.from({ length: 12 }, (_, i) => ({ question: `${i}+${i + 1}=`, answer: 2 * i + 1 }));
  writeFileSync(join(root, 'rows.jsonl'), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  writeFileSync(join(root, 'prompt.txt'), '{question}');
  const all = {};
  for (const [name, lines] of Object.entries(RUNS)) {
    const folder = join(root, name.replaceAll(' ', '-'));
    for (const [i, line] of lines.entries()) {
      const args = line.map((word) =>
        word === 'REWARD'
          ? `rewards=[{module: ${reward}}]`
          : word.replaceAll('FOLDER', folder).replaceAll('ROOT', root),
      );
      if (i === 0) args.push(`output=${folder}`);
      const { status, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
      if (status !== 0) throw new Error(`${name}: grpo ${args.join(' ')} ended with ${status}:\n${stderr}`);
    }
    for (const path of files(folder)
      .filter((path) => !APART.has(path))
      .sort())
      all[`${name}: ${path}`] = createHash('sha256')
        .update(content(join(folder, path), root))
        .digest('hex');
    console.error(`${name}: done`);
  }
  rmSync(root, { recursive: true });
  return all;
}

const [out, other] = process.argv.slice(2);
if (!out) throw new Error('usage: run_hashes.mjs OUT.json [OTHER.json]');
if (!other) writeFileSync(out, `${JSON.stringify(hashesOfRuns(), null, 2)}\n`);
else {
  const [a, b] = [out, other].map((path) => JSON.parse(readFileSync(path, 'utf8')));
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  const different = names.filter((name) => a[name] !== b[name]);
  for (const name of different) console.log(`${name} differs`);
  console.log(`${names.length} files, ${different.length} differ`);
  process.exitCode = different.length > 0 ? 1 : 0;
}
