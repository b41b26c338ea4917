/** Whole training runs on a tiny model, and what they leave. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ResolvedConfig, resolveConfig } from '../config/index.js';
import { trainGrpo } from './grpo.js';
import type { MetricsRow } from './metrics.js';
import { openSession, type RunEnd, type Session } from './session.js';
import { trainSft } from './sft-run.js';
import { rewarding } from './step.test.helper.js';

export interface RunOptions {
  command?: 'train' | 'sft';
  output: string;
  /** `key=value`, as on the command line. */
  settings: readonly string[];
  resume?: boolean;
  /** Aborts the run's signal after this step. */
  stopAfter?: number;
  /** Throws after this step, as if the process had died. */
  crashAfter?: number;
}

export interface Ran {
  end: RunEnd;
  rows: MetricsRow[];
}

/** A run of 8 small steps, unless the settings say otherwise. */
export function resolvedRun({ command = 'train', output, settings }: RunOptions): ResolvedConfig {
  const small = [
    'task.name=arithmetic',
    'eval.limit=2',
    'rollout.maxNewTokens=4',
    ...(command === 'train'
      ? ['rollout.prompts=2', 'rollout.group=2', 'train.steps=8']
      : ['sft.steps=8', 'sft.batchSize=3']),
  ];
  return resolveConfig({ command, settings: [...small, `output=${output}`, ...settings] });
}

/** Half of the vocabulary is good, half is not. */
const halfOfTheTokens = rewarding((_, { ids }) => ids.filter((id) => id % 2 === 0).length / ids.length);

/** Runs a command until it ends, stops or crashes. */
export async function run(options: RunOptions): Promise<Ran> {
  const interrupt = new AbortController();
  const rows: MetricsRow[] = [];
  await using session = await openSession(resolvedRun(options), {
    resume: options.resume ?? false,
    signal: interrupt.signal,
    watcher: {
      step(row) {
        rows.push(row);
        if (row.step === options.stopAfter) interrupt.abort();
        if (row.step === options.crashAfter) throw new Error('the lights went out');
      },
    },
  });
  const train = (opened: Session) =>
    options.command === 'sft' ? trainSft(opened) : trainGrpo(opened, { score: halfOfTheTokens });
  return { end: await train(session), rows };
}

const rowsOf = (output: string, file: string): Record<string, unknown>[] =>
  readFileSync(join(output, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Everything that a run of 8 steps leaves, without how long it took and what else lived in the process. */
export function remainsOf(output: string, command: 'train' | 'sft' = 'train') {
  const end = join(output, 'checkpoints', 'step-8');
  const bytes = (...path: string[]) => readFileSync(join(end, ...path)).toString('base64');
  const differs = (name: string) => /^(step_time$|seconds\/|live_)/.test(name);
  return {
    weights: bytes('model.safetensors'),
    optimizer: bytes('trainer', 'optimizer.safetensors'),
    state: bytes('trainer', 'state.json'),
    metrics: rowsOf(output, 'metrics.jsonl').map((row) =>
      Object.fromEntries(Object.entries(row).filter(([name]) => !differs(name))),
    ),
    evaluations: rowsOf(output, 'eval.jsonl'),
    completions: command === 'train' ? rowsOf(output, 'completions.jsonl') : [],
  };
}
