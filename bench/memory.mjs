// How well the estimate of a run's memory agrees with what it takes: ten configurations drawn by a seed, each a run of
// two steps with its evaluations in a process of its own.
//   node bench/memory.mjs [seed] [how many]
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = (path) => new URL(`../packages/grpo/dist/${path}`, import.meta.url).href;
const { resolveConfig } = await import(dist('config/index.js'));
const { uniform } = await import(dist('maths/random.js'));
const { readModelFolder, writeRandomWeights } = await import(dist('models/index.js'));
const { writeArithmeticModelFiles } = await import(dist('tasks/arithmetic/arithmetic-model.js'));
const { estimateMemory, withMemory } = await import(dist('run/memory-plan.js'));
const { openTask } = await import(dist('run/open-task.js'));

const [seed = '1', count = '10'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'grpo-memory-'));

/** A configuration: each part drawn by itself. */
function draw(index) {
  let place = 0;
  const one = (values) => values[Math.floor(uniform(Number(seed), index, place++) * values.length)];
  const width = one([128, 256, 512]);
  return {
    family: one(['qwen2', 'qwen2', 'gpt2']),
    width,
    layers: one([2, 4, 8]),
    vocabulary: one([2000, 20_000, 60_000]),
    command: one(['train', 'train', 'train', 'sft']),
    dtype: one(['float32', 'bfloat16']),
    rank: one([0, 0, 16]),
    beta: one([0, 0, 0.1]),
    prompt: one([40, 200, 600]),
    newTokens: one([16, 32, 64]),
    prompts: one([2, 4]),
    group: one([4, 8]),
    microBatchTokens: one([512, 2048]),
    recompute: one(['none', 'none', 'layers']),
  };
}

/** A model of random weights whose tokenizer has so many tokens. */
async function writeModel(dir, { family, width, layers, vocabulary }) {
  const size = { family, hiddenSize: width, layers, heads: width / 64, intermediateSize: 4 * width };
  await writeArithmeticModelFiles(dir, { ...size, maxLength: 2048 });
  const change = (name, edit) => {
    const path = join(dir, name);
    const json = JSON.parse(readFileSync(path, 'utf8'));
    edit(json);
    writeFileSync(path, JSON.stringify(json));
  };
  change('tokenizer.json', ({ model }) => {
    const known = Object.keys(model.vocab).length;
    for (let id = known; id < vocabulary; id++) model.vocab[`word${id}`] = id;
  });
  change('config.json', (config) => {
    config.vocab_size = vocabulary;
  });
  writeRandomWeights(dir, 1);
}

function settingsOf(dir, drawn) {
  const { command, dtype, rank, beta, prompt, newTokens, prompts, group, microBatchTokens, recompute } =
    drawn;
  const rows = Array.from({ length: 24 }, (_, i) => ({
    // The tokenizer is one of bytes.
    question: String(i)
      .padStart(4, '0')
      .repeat(prompt / 4),
    answer: 'so '.repeat(newTokens / 3).slice(0, newTokens - 1),
  }));
  const data = join(dir, 'data.jsonl');
  writeFileSync(data, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const reward = join(dir, 'reward.mjs');
  writeFileSync(reward, 'export default ({ completions }) => completions.map((text) => text.length % 7);\n');
  const common = [
    `model=${dir}`,
    `task.data=${data}`,
    'task.grading=none',
    'task.evalSize=4',
    `dtype=${dtype}`,
  ];
  const shared = [
    ...common,
    `rewards=[{module: ${reward}}]`,
    `rollout.maxNewTokens=${newTokens}`,
    `train.microBatchTokens=${microBatchTokens}`,
    `train.recompute=${recompute}`,
    `lora.rank=${rank}`,
    'device=cpu',
  ];
  return command === 'sft'
    ? [...shared, 'sft.steps=2', `sft.batchSize=${prompts * group}`]
    : [...shared, 'train.steps=2', `rollout.prompts=${prompts}`, `rollout.group=${group}`, `kl.beta=${beta}`];
}

async function estimated(command, settings) {
  const resolved = withMemory(resolveConfig({ command, settings }));
  const task = await openTask({ ...resolved.config, rewards: [] });
  const estimate = estimateMemory(resolved, readModelFolder(resolved.config.model), task);
  task[Symbol.dispose]();
  return estimate;
}

/**
 * Largest resident memory of the run's process, in bytes. Not what getrusage says: that begins with the memory of the
 * process that started it.
 */
function measured(dir, command, settings) {
  const peak = join(dir, 'peak');
  const tell = `import { readFileSync, writeFileSync } from 'node:fs';
    const peak = () => /VmHWM:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1];
    process.on('exit', () => writeFileSync(${JSON.stringify(peak)}, peak()));`;
  const main = fileURLToPath(dist('cli/main.js'));
  const hook = `data:text/javascript,${encodeURIComponent(tell)}`;
  const argv = ['--import', hook, main, command, ...settings, `output=${join(dir, 'run')}`];
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return 1024 * Number(readFileSync(peak, 'utf8'));
}

const megabytes = (bytes) => String(Math.round(bytes / 1e6)).padStart(6);
let worst = 0;
console.log('estimate measured  ratio  configuration');
for (let index = 0; index < Number(count); index++) {
  const drawn = draw(index);
  const dir = join(folder, String(index));
  mkdirSync(dir);
  await writeModel(dir, drawn);
  const settings = settingsOf(dir, drawn);
  const { peak, phases } = await estimated(drawn.command, settings);
  const took = measured(dir, drawn.command, settings);
  worst = Math.max(worst, Math.abs(peak / took - 1));
  const { name } = phases.find(({ bytes }) => bytes === peak);
  const text = Object.entries(drawn).map(([key, value]) => `${key} ${value}`);
  console.log(
    `${megabytes(peak)}   ${megabytes(took)}  ${(peak / took).toFixed(2)}  ${name}: ${text.join(', ')}`,
  );
  rmSync(dir, { recursive: true });
}
console.log(`furthest from the measured peak: ${(100 * worst).toFixed(0)} %`);
rmSync(folder, { recursive: true });
