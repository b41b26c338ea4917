/** A look at a run of ours from its listing and the ends of its files: a list of a thousand runs parses no whole log. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../errors/file-error.js';
import { UserError } from '../errors/user-error.js';
import { isObject, readJsonObject } from '../formats/json.js';
import type { Place } from '../trace/readers/index.js';
import { numberOf } from '../trace/readers/rows/metric-row.js';
import { lastRows } from './last-rows.js';
import type { RunEntry } from './requests.js';
import { thinned } from './thinned.js';

/** A run writes each step; a step of a new run may take long, and the last one tells how long. */
const PATIENCE_MS = 10 * 60_000;
const PATIENT_STEPS = 10;
const FILES = ['metrics.jsonl', 'timings.jsonl', 'eval.jsonl', 'run.lock'];

/** The facts of a run that the ends of its files have. */
export interface OwnRun
  extends Pick<RunEntry, 'step' | 'steps' | 'reward' | 'rewards' | 'findings' | 'problem'> {
  modified: number;
  isLocked: boolean;
  /** Of the last step, while there is a lock. */
  seconds: number;
}

/** @param bytes - as much is read of the end of a file */
export function lookAt({ path, names }: Place, bytes: number): OwnRun {
  const of = (name: string) => (names.includes(name) ? lastRows(join(path, name), bytes) : []);
  const rows = of('metrics.jsonl');
  const rewards = rows.flatMap(({ reward }) => numberOf(reward) ?? []);
  const step = numberOf(rows.at(-1)?.step);
  const findings = of('findings.jsonl');
  const isLocked = names.includes('run.lock');
  const codes = (severity: string) =>
    new Set(findings.filter((row) => row.severity === severity).map(({ code }) => code)).size;
  return {
    ...settingsIn(path),
    ...(step !== undefined && { step }),
    ...(rewards.length > 0 && { reward: rewards.at(-1)!, rewards: thinned(rewards) }),
    findings: { fail: codes('fail'), warn: codes('warn') },
    modified: Math.max(
      ...FILES.filter((name) => names.includes(name)).map((name) => changedAt(join(path, name))),
    ),
    isLocked,
    seconds: (isLocked && numberOf(of('timings.jsonl').at(-1)?.step_time)) || 0,
  };
}

/**
 * Whether a process writes a run cannot be seen from its files: `running` is a run whose lock is there, as a killed one
 * leaves it, too, and whose files changed within ten minutes or ten steps' time.
 */
export function stateOf(
  { isLocked, modified, seconds, step, steps }: OwnRun,
  now: number,
): RunEntry['state'] {
  if (isLocked && now - modified < Math.max(PATIENCE_MS, PATIENT_STEPS * seconds * 1000)) return 'running';
  if (steps === undefined) return 'unknown';
  return step !== undefined && step >= steps ? 'finished' : 'stopped';
}

const changedAt = (file: string) => onFile('read', file, () => statSync(file)).mtimeMs;

/** The setting that says how many steps a command's run has. */
const STEPS_OF: Readonly<Record<string, string>> = {
  train: 'train.steps',
  sft: 'sft.steps',
  expert: 'expert.iterations',
};

function settingsIn(path: string): Pick<OwnRun, 'steps' | 'problem'> {
  try {
    const { command, values } = readJsonObject(join(path, 'config.json'), 'the record of the run');
    const setting = isObject(values) ? values[STEPS_OF[String(command)] ?? STEPS_OF.train!] : undefined;
    const steps = isObject(setting) ? setting.value : undefined;
    return typeof steps === 'number' ? { steps } : {};
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { problem: error.message };
  }
}
