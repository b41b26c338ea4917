/** Tiny runs, reduced to what they leave: two that differ did different things. */
import { createHash } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readsKey } from '../config/command-keys.js';
import { resolveConfig, UserError } from '../config/index.js';
import { type Stages, stages } from '../step/stages.js';
import { openRun, type Run } from './open-run.js';
import { trainExpert } from './train-expert.js';
import { trainGrpo } from './train-grpo.js';
import { trainSft } from './train-sft.js';

export type TrainingCommand = 'train' | 'sft' | 'expert';

const model = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

export const MODELS = {
  llama3: model('llama3'),
  qwen2: model('qwen2'),
  gpt2: model('gpt2'),
  diffusion: model('a2d-qwen2'),
};

export const ADAPTER = fileURLToPath(new URL('../../../../parity/fixtures/lora/llama3', import.meta.url));

const rows = (tag: string) =>
  ['one', 'two', 'three', 'four', 'five'].map((word, i) => ({
    question: `${tag} ${word}`,
    answer: `${word}\n#### ${i}`,
    q2: `${word} of ${tag}`,
    a2: `it is ${word}\n#### ${i + 1}`,
    kind: i % 2 === 0 ? 'even' : 'odd',
  }));

const lines = (all: readonly object[]) => all.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Of the ids' sum, so that rewards differ within nearly every group. */
const reward = (formula: string) =>
  `export default ({ completions }) => completions.map((text, i) => ${formula});\n`;

/** Speaks UCI, and likes e2e4 everywhere. */
const ENGINE = `#!${process.execPath}
import { createInterface } from 'node:readline';
const replies = { uci: 'uciok', isready: 'readyok', go: 'info multipv 1 score cp 9 pv e2e4\\nbestmove e2e4' };
for await (const line of createInterface({ input: process.stdin })) {
  const reply = replies[line.split(' ')[0]];
  if (reply) console.log(reply);
}
`;

const position = (ranks: string) => `{"text": "P: 4k3/8/8/8/8/8/${ranks}/4K3 w - - 0 1"}\n`;

const FILES: Readonly<Record<string, string>> = {
  'chess.jsonl': position('4P3') + position('3P4'),
  'positions.jsonl': position('2P5') + position('1P6'),
  'engine.mjs': ENGINE,
  'data.jsonl': lines(rows('say')),
  'other.jsonl': lines(rows('tell')),
  'held.jsonl': lines(rows('held')),
  'held2.jsonl': lines(rows('kept')),
  'prompt.txt': 'Q: {question} A:',
  'wave.mjs': reward('Math.sin(text.length + 7 * i + (text.charCodeAt(0) || 0))'),
  'step.mjs': reward('Number((text.charCodeAt(1) || 0) % 2)'),
  // Every second group is flat.
  'coarse.mjs': reward('Math.floor(i / 3) % 2 === 0 ? 0.2 : Math.sin(i + text.length)'),
  'flat.mjs': reward('0.2'),
  'failing.mjs':
    'export default ({ completions }) => completions.map((_, i) => (i === 0 ? Number.NaN : i % 2));\n',
  'loss.mjs': 'export default ({ logprobs_T }) => ({ loss: logprobs_T.mean().neg() });\n',
};

/** Writes what the runs read. */
export function writeFiles(folder: string): void {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  chmodSync(join(folder, 'engine.mjs'), 0o755);
}

const SMALL = [
  'rollout.prompts=2',
  'rollout.group=3',
  'rollout.maxNewTokens=6',
  'optimizer.learningRate=0.01',
  'train.steps=2',
  'sft.steps=2',
  'sft.batchSize=2',
  'sft.learningRate=0.01',
  'expert.iterations=2',
  'eval.limit=2',
  'eval.before=false',
  'doctor.onFinding=off',
  'threads=1',
  'device=cpu',
];

/** What a run does when a row of the table says nothing else. */
export const TASKS: Readonly<Record<'jsonl' | 'arithmetic' | 'chess', readonly string[]>> = {
  chess: [
    `model=${MODELS.llama3}`,
    'task.name=chess',
    'task.data=chess.jsonl',
    'task.evalData=positions.jsonl',
  ],
  jsonl: [
    `model=${MODELS.llama3}`,
    'task.data=data.jsonl',
    'task.evalData=held.jsonl',
    'task.grading=none',
    'rewards=[{module: wave.mjs}, {module: step.mjs}]',
  ],
  arithmetic: ['task.name=arithmetic'],
};

/**
 * Everything that a run left, and what its stages were asked to do, as text; or why it was refused. Files are named
 * relative to `folder`.
 *
 * @param carried - with what the run would go on with
 */
export async function leftBy(
  folder: string,
  command: TrainingCommand,
  settings: readonly string[],
  carried = false,
): Promise<string> {
  const placed = [...SMALL, 'output=run', ...settings]
    .filter((setting) => readsKey(command, setting.split('=')[0]!))
    .map((setting) => setting.replace(/\w+\.(jsonl|txt|mjs)\b/g, (name) => join(folder, name)))
    .map((setting) => setting.replace(/^output=/, () => `output=${mkdtempSync(join(folder, 'made-'))}/`));
  const asked: unknown[] = [];
  try {
    const note = (text: string) => {
      if (text.startsWith('[Micro')) asked.push({ told: text.replace(/:.*/, '') });
    };
    await using session = await openRun(resolveConfig({ command, settings: placed, env: {} }), {
      watcher: { note },
    });
    await train(command, session, asked);
    const { path } = session.folder;
    const state = carried && carriedBy(path, session.progress.step);
    return JSON.stringify({ asked, output: basename(path), ...filesOf(path), state });
  } catch (error) {
    if (error instanceof UserError) return `refused: ${error.message}`;
    throw error;
  }
}

function train(command: TrainingCommand, session: Run, asked: unknown[]) {
  if (command === 'sft') return trainSft(session);
  return command === 'expert' ? trainExpert(session, watched(asked)) : trainGrpo(session, watched(asked));
}

/** The standard stages, with a sampler whose log-probs are not quite the trainer's, and a note of what each batch is. */
function watched(asked: unknown[]): Partial<Stages> {
  return {
    sample: async (model, requests, options, seed) => {
      // A small model's products may have the same bits either way.
      asked.push({ decodedWithin: options.lotBytes, invariant: options.invariant });
      const groups = await stages.sample(model, requests, options, seed);
      for (const { logprobs } of groups.flat())
        for (const t of logprobs.keys()) logprobs[t]! += 0.2 * Math.sin(3 * t + 1);
      return groups;
    },
    score: (task, problems, groups, onError) => {
      asked.push({ gradedAtOnce: groups.map(({ length }) => length) });
      return stages.score(task, problems, groups, onError);
    },
    logprob: (decoder, groups, ...rest) => {
      asked.push({
        scoredAtOnce: groups.map(({ completions }) => completions.length),
        by: decoder.constructor.name,
      });
      return stages.logprob(decoder, groups, ...rest);
    },
  };
}

/** What is set down of settings, weights of the objective, time and process; a step's numbers are in its step.safetensors. */
const OTHERS = /(^|\/)(config\.json|timings\.jsonl|step\.json|state\.json|run\.lock)$/;

/** Contents by name. */
function filesOf(run: string): Record<string, string> {
  const { engine } = JSON.parse(readFileSync(join(run, 'config.json'), 'utf8'));
  const names = readdirSync(run, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(run, name)).isFile() && !OTHERS.test(name))
    .sort();
  const hashes = names.map((name) => [name, hash(readFileSync(join(run, name)), name)] as const);
  return { engine: JSON.stringify(engine), ...Object.fromEntries(hashes) };
}

/** What a run carries from step to step. */
const carriedBy = (run: string, step: number) =>
  readFileSync(join(run, `checkpoints/step-${step}/trainer/state.json`), 'utf8');

const ECHOED = /"(live_tensors|live_bytes|learning_rate|beta(\/\w+)?|entropy_coef)":[^,}]+/g;

function hash(content: Buffer, name: string): string {
  // A weight that is only reported changes nothing; and tensors that another test leaves are counted too.
  const stable = name === 'metrics.jsonl' ? content.toString('utf8').replace(ECHOED, '') : content;
  return createHash('sha256').update(stable).digest('hex');
}
