/** Whole training runs on a tiny model, and what they leave. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ResolvedConfig, resolveConfig } from '../config/index.js';
import type { MetricsRow } from '../observe/metrics.js';
import type { Stages } from '../step/stages.js';
import { rewarding } from '../step/step.test.helper.js';
import { openRun } from './open-run.js';
import type { RunEnd } from './run-steps.js';
import { trainExpert } from './train-expert.js';
import { trainGrpo } from './train-grpo.js';
import { trainSft } from './train-sft.js';

export interface RunOptions {
  command?: 'train' | 'sft' | 'expert';
  output: string;
  /** `key=value`, as on the command line. */
  settings: readonly string[];
  resume?: boolean;
  restart?: boolean;
  /** Aborts the run's signal after this step. */
  stopAfter?: number;
  /** Throws after this step, as if the process had died. */
  crashAfter?: number;
  /** Throws when the evaluation after this step has written the first of its rows. */
  dieInEvaluation?: number;
  /** Called after each step. */
  onStep?(step: number): void;
  note?(text: string): void;
  stages?: Partial<Stages>;
  /** Aborts the run's signal at the n-th report of a stage. */
  abortIn?: { stage: string; report: number };
}

export interface Ran {
  end: RunEnd;
  rows: MetricsRow[];
  /** Reports of progress by stage. */
  reports: Record<string, number>;
  notes: string[];
}

const SMALL = {
  train: ['rollout.prompts=2', 'rollout.group=2', 'train.steps=8'],
  sft: ['sft.steps=8', 'sft.batchSize=3'],
  expert: ['rollout.prompts=3', 'rollout.group=4', 'expert.iterations=8', 'sft.batchSize=2'],
};

/** A run of 8 small steps, unless the settings say otherwise. */
export function resolvedRun({ command = 'train', output, settings }: RunOptions): ResolvedConfig {
  const small = ['task.name=arithmetic', 'eval.limit=2', 'rollout.maxNewTokens=4', ...SMALL[command]];
  return resolveConfig({ command, settings: [...small, `output=${output}`, ...settings] });
}

/** Half of the vocabulary is good, half is not. */
export const halfOfTheTokens = rewarding(
  (_, { ids }) => ids.filter((id) => id % 2 === 0).length / ids.length,
);

/** Runs a command until it ends, stops or crashes. */
export async function run(options: RunOptions): Promise<Ran> {
  const interrupt = new AbortController();
  const rows: MetricsRow[] = [];
  const reports: Record<string, number> = {};
  const notes: string[] = [];
  await using session = await openRun(resolvedRun(options), {
    resume: options.resume ?? false,
    restart: options.restart,
    signal: interrupt.signal,
    watcher: {
      step(row) {
        rows.push(row);
        options.onStep?.(row.step);
        if (row.step === options.stopAfter) interrupt.abort();
        if (row.step === options.crashAfter) throw new Error('the lights went out');
      },
      progress({ stage }) {
        const report = (reports[stage] ?? 0) + 1;
        reports[stage] = report;
        const { abortIn } = options;
        if (abortIn?.stage === stage && abortIn.report === report) interrupt.abort();
      },
      note(text) {
        notes.push(text);
        options.note?.(text);
      },
    },
  });
  const { folder } = session;
  const evaluation = folder.evaluation.bind(folder);
  folder.evaluation = (row, completions = []) => {
    if (row.step !== options.dieInEvaluation) return evaluation(row, completions);
    const file = join(options.output, 'eval-completions.jsonl');
    appendFileSync(file, `${JSON.stringify({ ...completions[0] })}\n`);
    throw new Error('the lights went out');
  };
  const train = {
    train: () => trainGrpo(session, { score: halfOfTheTokens, ...options.stages }),
    sft: () => trainSft(session),
    expert: () => trainExpert(session, { score: halfOfTheTokens, ...options.stages }),
  };
  try {
    return { end: await train[options.command ?? 'train'](), rows, reports, notes };
  } catch (error) {
    // A process that dies saves nothing.
    const saved = join(options.output, 'checkpoints', `step-${options.crashAfter}-error`);
    if (options.crashAfter !== undefined) rmSync(saved, { recursive: true, force: true });
    throw error;
  }
}

const ADAPTER = 'adapter_model.safetensors';

/** What the machine measured, or the resuming. */
const APART = /^(config\.json|timings\.jsonl|run\.lock|checkpoints.step-(?!8\b).*)$/;

/** Rows of metrics without what is counted in the process, which other tests share. */
export const withoutCounts = (rows: string): string => rows.replace(/,"live_(tensors|bytes)":\d+/g, '');

/** Fingerprints of all files of a run of 8 steps, by path; of a record without the seconds of its stages. */
function fingerprints(output: string): Record<string, string> {
  const names = readdirSync(output, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(output, join(parentPath, name)))
    .filter((name) => !APART.test(name));
  const contentOf = (name: string) => {
    const bytes = readFileSync(join(output, name));
    if (name === 'metrics.jsonl') return withoutCounts(bytes.toString());
    if (!name.endsWith('step.json')) return bytes;
    return JSON.stringify({ ...(JSON.parse(bytes.toString()) as object), stages: undefined });
  };
  const print = (name: string) => createHash('sha256').update(contentOf(name)).digest('hex');
  return Object.fromEntries(names.sort().map((name) => [name, print(name)]));
}

/** Everything that a run of 8 steps leaves, byte for byte, but for its settings and what the machine and the process measured. */
export function remainsOf(output: string) {
  const text = (...path: string[]) => readFileSync(join(output, ...path), 'utf8');
  const base64 = (...path: string[]) => readFileSync(join(output, ...path)).toString('base64');
  const end = join('checkpoints', 'step-8');
  return {
    weights: base64(end, existsSync(join(output, end, ADAPTER)) ? ADAPTER : 'model.safetensors'),
    optimizer: base64(end, 'trainer', 'optimizer.safetensors'),
    state: text(end, 'trainer', 'state.json'),
    metrics: withoutCounts(text('metrics.jsonl')),
    completions: text('completions.jsonl'),
    evaluations: text('eval.jsonl'),
    evaluated: text('eval-completions.jsonl'),
    files: fingerprints(output),
  };
}

/** The steps of a file of rows, in its order. */
export const stepsOf = (rows: string): number[] =>
  rows.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { step: number }).step]));
