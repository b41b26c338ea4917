// The files of this project that one default GRPO step runs, by V8's coverage: node parity/step_files.mjs [--watched] [ROOT]
// ROOT is a built checkout, this one unless given. With --watched the step has the observers that `grpo train` gives it.
//
// Counted: every file of packages/grpo of which a function runs after `grpoStep` is entered and before `AdamW.step` is.
// Left out always: packages/torch (engine and native code), and models/, the decoder. What is imported but does not run is
// not counted. To follow the step is to read all of the algorithm (step/, objective/), and of each room that it only calls
// the file that it calls: text/render.ts, rollout/sampler.ts, rewards/score.ts. What these stand on (the tokenizer, the
// cache, the guard around a user's reward) and the rooms that every room uses (maths/, memory/, progress/) are listed
// apart. Functions are the named ones that ran; types are the interfaces, type aliases and classes of these files.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import inspector from 'node:inspector';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { watched: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const root = resolve(positionals[0] ?? fileURLToPath(new URL('..', import.meta.url)));
const load = (path) => import(pathToFileURL(join(root, path)).href);
const LEFT_OUT = /^(models|library)\//;
const FOLLOWED = /^(step|train|objective)\/|^(text\/render|rollout\/sampler|rewards\/score)\.ts$/;

const grpo = await load('packages/grpo/dist/index.js');
const { AdamW } = await load('packages/torch/dist/index.js');
const folder = mkdtempSync(join(tmpdir(), 'grpo-step-files-'));

const task = grpo.defineTask({
  name: 'letters',
  rows: [...'abcdefghijklmnopqrstuvwxyz'].map((letter) => ({ letter })),
  prompt: ({ letter }) => `${letter}:`,
  rewards: { share: (completion, { letter }) => completion.split(letter).length - 1 },
});
const model = await grpo.writeTinyModel(join(folder, 'model'));
const settings = { rollout: { maxNewTokens: 8 } };
const run = await grpo.openRun({ model, task, settings, output: join(folder, 'run') });
const opened = grpo.GrpoTrainer ? await grpo.GrpoTrainer.open(run) : run;
const trainer = { ...opened, watch: undefined, reference: undefined, stages: grpo.stages };
const takeStep = await stepOf();
const problems = run.task.train.slice(0, run.config.rollout.prompts);
await takeStep(trainer, problems, 0, 1e-3);

const session = new inspector.Session();
session.connect();
/** Calls the inspector; in its own process it answers at once. */
function post(method, params) {
  let answer;
  session.post(method, params, (error, result) => {
    if (error) throw new Error(error.message);
    answer = result;
  });
  return answer;
}
let scripts = [];
const { step } = AdamW.prototype;
AdamW.prototype.step = function (...args) {
  if (scripts.length === 0) scripts = post('Profiler.takePreciseCoverage').result;
  return step.apply(this, args);
};
post('Profiler.enable');
post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
await takeStep(trainer, problems, 1, 1e-3);
session.disconnect();
await run[Symbol.asyncDispose]();
rmSync(folder, { recursive: true });

const dist = pathToFileURL(join(root, 'packages/grpo/dist/')).href;
const files = scripts
  .filter(({ url }) => url.startsWith(dist))
  .map(({ url, functions }) => ({
    path: url.slice(dist.length).replace(/\.js$/, '.ts'),
    functions: functions.filter(
      ({ ranges: [range], functionName }) => range.count > 0 && functionName !== '',
    ),
    all: functions.filter(({ ranges: [range] }) => range.count > 0).length,
  }))
  .filter(({ path, all }) => all > 0 && !LEFT_OUT.test(path))
  .sort((a, b) => (a.path < b.path ? -1 : 1));
const typesIn = (path) =>
  readFileSync(join(root, 'packages/grpo/src', path), 'utf8').match(
    /^(export )?(abstract )?(interface|type|class) \w+/gm,
  )?.length ?? 0;
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
function print(title, list) {
  const functions = sum(list.map((file) => file.functions.length));
  const types = sum(list.map(({ path }) => typesIn(path)));
  console.log(`${title}: ${list.length} files, ${functions} functions, ${types} types`);
  for (const { path, functions: own } of list)
    console.log(`  ${path}: ${own.map(({ functionName }) => functionName).join(', ')}`);
}
const watching = files.filter(({ path }) => path.startsWith('observe/'));
const followed = files.filter(({ path }) => FOLLOWED.test(path));
print('To follow', followed);
if (watching.length > 0) print('What watches', watching);
print(
  'What these stand on',
  files.filter((file) => !followed.includes(file) && !watching.includes(file)),
);

/** `grpoStep`, with nothing that watches it unless that is asked for. */
async function stepOf() {
  if (!values.watched) return grpo.grpoStep;
  const options = { measureWeights: true, probeScoring: 'where they differ' };
  const { recordStep } = await load('packages/grpo/dist/observe/record-step.js').catch(() => ({}));
  return recordStep
    ? (...args) => recordStep(...args, options)
    : (trainer, ...args) => grpo.grpoStep({ ...trainer, ...options }, ...args);
}
