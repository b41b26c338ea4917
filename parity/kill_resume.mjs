// Kills training runs with SIGKILL at random moments, resumes them, and compares every file that they leave with those
// of a run that was never stopped: node parity/kill_resume.mjs [kills of each run] [seed]
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const kills = Number(process.argv[2] ?? 30);
const seed = Number(process.argv[3] ?? 1);
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const main = here('../packages/grpo/bin/grpo.js');
const root = mkdtempSync(join(tmpdir(), 'grpo-kill-'));
function place(name, text) {
  writeFileSync(join(root, name), text);
  return join(root, name);
}
// The model of random weights answers nothing right: a reward that tells its completions apart.
const reward = place(
  'digits.js',
  'export default ({ completions }) => completions.map((text) => text.replace(/[^0-9]/g, "").length);\n',
);

const STEPS = 8;
const EVAL_EVERY = 3;
const SHARED = [
  'threads=1',
  'rollout.maxNewTokens=12',
  'eval.limit=24',
  `eval.every=${EVAL_EVERY}`,
  'checkpoint.every=1',
  'optimizer.schedule=cosine',
];
/** A judge that knows nothing but whether a completion is of even length. */
const server = createServer(async (request, response) => {
  const { messages } = JSON.parse((await request.toArray()).join(''));
  const content = JSON.stringify({ score: messages[0].content.length % 2 });
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ choices: [{ message: { role: 'assistant', content }, finish_reason: 'stop' }] }),
  );
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const judge = JSON.stringify({
  baseURL: `http://127.0.0.1:${server.address().port}/v1`,
  model: 'even',
  prompt: place('judge.txt', '{completion}'),
  cache: join(root, 'verdicts'),
  requestsPerSecond: 1e5,
});
const questions = Array.from({ length: 8 }, (_, i) => ({ question: `${i}+${i + 1}=`, answer: 2 * i + 1 }));
const rows = place('rows.jsonl', questions.map((row) => `${JSON.stringify(row)}\n`).join(''));
const mixed = `{name: jsonl, data: ${rows}, prompt: ${place('prompt.txt', '{question}')}}`;

/**
 * By name: a command and its settings. Each step of GRPO is four updates of several micro-batches; `all` has whatever
 * else carries something from step to step. A save takes about as long as a step.
 */
const RUNS = {
  train: [
    'train',
    'task.name=arithmetic',
    ...SHARED,
    `train.steps=${STEPS}`,
    `rewards=[{module: ${reward}}]`,
    'train.microBatchTokens=80',
    'dtype=bfloat16',
    'rollout.prompts=4',
    'rollout.group=4',
    'kl.beta=0.05',
    'objective.iterations=2',
    'objective.minibatches=2',
    'objective.oldLogprobs=recompute',
    'optimizer.learningRate=1e-3',
  ],
  all: [
    'train',
    ...SHARED,
    `train.steps=${STEPS}`,
    'task.name=mix',
    // That of the run before.
    `model=${join(root, 'train-whole', 'model')}`,
    `task.mix=[{name: arithmetic, share: 2}, ${mixed}]`,
    'task.evalSize=4',
    `rewards=[{judge: ${judge}, name: even}, {model: ${here('fixtures/reward-models/llama3')}, weight: 0}]`,
    'onRewardError=drop',
    // Small groups, of which many have equal rewards and give way to others.
    'rollout.prompts=6',
    'rollout.group=2',
    'groups.refills=1',
    'groups.replay=3',
    'objective.oldLogprobs=recompute',
    'kl.beta=0.05',
    'kl.control=lagrangian',
    'kl.target=0.001',
    'kl.referenceEvery=3',
    'kl.referenceMix=1',
    'entropy.adaptive=true',
    'entropy.target=3',
    'train.canaries=2',
    'train.kindGradients=3',
    'record.every=1',
    'lora.rank=4',
    'optimizer.learningRate=1e-2',
  ],
  sft: [
    'sft',
    'task.name=arithmetic',
    ...SHARED,
    `sft.steps=${STEPS}`,
    'sft.batchSize=8',
    'train.microBatchTokens=60',
    'sft.learningRate=1e-3',
  ],
};
/** What the machine decides, or the resuming: checked apart, or not at all. */
const APART = new Set(['config.json', 'timings.jsonl']);
const STEPWISE = ['metrics.jsonl', 'timings.jsonl'];

let state = seed;
/** Uniform in [0, 1): a linear congruential generator is random enough for moments. */
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
}

/** Starts a command; `ended` resolves to its exit code, null when it was killed. */
function start(args) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const run = { child, over: false, ended: undefined };
  run.ended = new Promise((resolve) => {
    child.on('close', (code) => {
      run.over = true;
      if (code !== 0 && code !== null)
        throw new Error(`grpo ${args.join(' ')} ended with ${code}:\n${stderr}`);
      resolve(code);
    });
  });
  return run;
}

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const names = (path) => (existsSync(path) ? readdirSync(path) : []);
const half = (folder) => names(join(folder, 'checkpoints')).some((name) => name.startsWith('.tmp-'));
const whole = (folder) => names(join(folder, 'checkpoints')).filter((name) => name.startsWith('step-'));

/** The steps of the whole rows of a file. */
function stepsOf(path) {
  const text = read(path);
  const lines = text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .slice(0, -1);
  return lines.map((line) => JSON.parse(line).step);
}

/** Rows go 1, 2, 3 …, whenever one looks. */
function checkRows(folder) {
  for (const name of STEPWISE) {
    const steps = stepsOf(join(folder, name));
    if (steps.some((step, i) => step !== i + 1)) throw new Error(`${folder}/${name} has the steps ${steps}`);
  }
}

/** Looks at the rows until the run is over. */
async function watch(run, folder) {
  let looks = 0;
  for (; !run.over; looks++) {
    checkRows(folder);
    await sleep(10);
  }
  return looks;
}

/** Waits for a condition, or for the end of the run. */
async function until(run, condition) {
  while (!run.over && !condition()) await sleep(1);
}

/** Where a killed run was, as far as its folder tells. */
function landing(folder, isReady) {
  if (!existsSync(join(folder, 'config.json'))) return 'before the run folder was made';
  if (half(folder)) return 'while saving';
  const rows = stepsOf(join(folder, 'metrics.jsonl')).length;
  const saved = Math.max(0, ...whole(folder).map((name) => Number(name.slice(5))));
  if (saved === 0 && rows === 0) {
    if (!isReady(folder)) return 'while making the model';
    return read(join(folder, 'eval.jsonl')) === '' ? 'in the first evaluation' : 'in the first step';
  }
  if (rows > saved) return 'after a step, before its checkpoint';
  const evaluated = stepsOf(join(folder, 'eval.jsonl')).at(-1);
  const isDue = saved === STEPS || saved % EVAL_EVERY === 0;
  if (isDue && evaluated !== saved) return saved === STEPS ? 'in the final evaluation' : 'in an evaluation';
  return saved === STEPS ? 'after the final evaluation' : 'in a later step';
}

/** Every file below a folder, by its path from there. */
function files(folder, below = '') {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = join(below, entry.name);
    return entry.isDirectory() ? files(folder, path) : [path];
  });
}

/** How two run folders differ; the number of files compared when they do not. */
function compare(expected, folder) {
  const [wanted, found] = [expected, folder].map((dir) => files(dir).sort());
  const differences = [
    ...wanted.filter((path) => !found.includes(path)).map((path) => `${path} is missing`),
    ...found.filter((path) => !wanted.includes(path)).map((path) => `${path} is left over`),
  ];
  const common = wanted.filter((path) => found.includes(path) && !APART.has(path));
  for (const path of common) {
    const [one, other] = [expected, folder].map((dir) => content(join(dir, path)));
    if (!one.equals(other)) differences.push(`${path} differs`);
  }
  if (stepsOf(join(folder, 'timings.jsonl')).length !== STEPS) differences.push('timings.jsonl lacks rows');
  return { differences, compared: common.length };
}

/** A file's bytes; of a step record without the seconds of its stages. */
function content(path) {
  const bytes = readFileSync(path);
  if (!path.endsWith('step.json')) return bytes;
  const { stages: _, ...record } = JSON.parse(bytes);
  return Buffer.from(JSON.stringify(record));
}

/** When to kill: first in the first evaluation, after the first row, and twice in the final evaluation; then at random. */
function moment(count, stepTime, isReady) {
  const rows = (folder) => stepsOf(join(folder, 'metrics.jsonl')).length;
  if (count === 0) return { condition: isReady, delay: stepTime / 4 };
  if (count === 1) return { condition: (folder) => rows(folder) > 0, delay: 0 };
  const last = (folder) => whole(folder).includes(`step-${STEPS}`) && !half(folder);
  if (count === 2 || count === 3) return { condition: last, delay: random() * 20 };
  const nth = Math.floor(random() * STEPS);
  // One in three in a save: after the nth row, as soon as there is half a checkpoint, or a little later.
  if (count % 3 === 2) {
    return { condition: (folder) => rows(folder) > nth && half(folder), delay: random() * 15 };
  }
  // The others between two rows; before the first one, that is from the start of the process on.
  return { condition: (folder) => rows(folder) >= nth, delay: random() * stepTime * (nth === 0 ? 10 : 1.5) };
}

async function campaign(name) {
  const [command, ...settings] = RUNS[name];
  const expected = join(root, `${name}-whole`);
  // What a run has made when it begins: without a given model, that too.
  const isGiven = settings.some((setting) => setting.startsWith('model='));
  const ready = isGiven ? 'config.json' : 'model/model.safetensors';
  const isReady = (folder) => existsSync(join(folder, ready));
  const reference = start([command, ...settings, `output=${expected}`]);
  await until(reference, () => existsSync(join(expected, 'config.json')));
  const began = performance.now();
  await reference.ended;
  const stepTime = (performance.now() - began) / STEPS;
  const metrics = read(join(expected, 'metrics.jsonl'));
  const norms = metrics.match(/"grad_norm":(?!0,)/g) ?? [];
  if (norms.length < STEPS / 2) throw new Error(`${name} has learnt nothing`);
  if (name === 'all' && !/"groups_replayed":[1-9]/.test(metrics)) throw new Error('nothing was replayed');

  const landed = new Map();
  const result = { runs: 0, kills: 0, torn: 0, looks: 0, compared: 0, landed, differences: [] };
  for (let trial = 0; result.kills < kills; trial++) {
    const folder = join(root, `${name}-${trial}`);
    const go = () => {
      const made = existsSync(join(folder, 'config.json'));
      const more = whole(folder).length === 0 ? ['--restart'] : [];
      return start(
        made ? [command, '--resume', folder, ...more] : [command, ...settings, `output=${folder}`],
      );
    };
    for (let again = 0; again < 2 && result.kills < kills; again++) {
      const run = go();
      const { condition, delay } = moment(result.kills, stepTime, isReady);
      const watching = watch(run, folder);
      await until(run, () => condition(folder));
      await Promise.race([sleep(delay), run.ended]);
      if (run.over) break;
      run.child.kill('SIGKILL');
      await run.ended;
      result.looks += await watching;
      checkRows(folder);
      result.kills++;
      const where = landing(folder, isReady);
      landed.set(where, (landed.get(where) ?? 0) + 1);
      const left = existsSync(folder) ? files(folder) : [];
      const rows = left.filter((path) => path.endsWith('.jsonl'));
      result.torn += rows.filter((path) => !/^$|\n$/.test(read(join(folder, path)))).length;
    }
    const last = go();
    result.looks += await watch(last, folder);
    await last.ended;
    result.runs++;
    const { differences, compared } = compare(expected, folder);
    result.compared += compared;
    result.differences.push(...differences.map((text) => `${name}-${trial}: ${text}`));
    if (differences.length === 0) rmSync(folder, { recursive: true });
  }
  return result;
}

let failed = false;
for (const name of Object.keys(RUNS)) {
  const { landed, differences, ...counts } = await campaign(name);
  console.log(`${name}: ${counts.kills} kills of ${counts.runs} runs`);
  for (const [where, count] of [...landed].sort(([, a], [, b]) => b - a)) console.log(`  ${count} ${where}`);
  console.log(
    `  ${counts.torn} rows were torn; ${counts.looks} looks at the rows found no gap and no duplicate`,
  );
  console.log(`  ${counts.compared} files compared, ${differences.length} differences`);
  for (const difference of differences) console.log(`  ${difference}`);
  failed ||= differences.length > 0;
}
server.close();
if (failed) console.log(`The runs that differ are in ${root}.`);
else rmSync(root, { recursive: true });
process.exitCode = failed ? 1 : 0;
