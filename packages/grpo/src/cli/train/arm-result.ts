import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Estimate } from '../../evaluation/eval-score.js';
import { readJsonLines } from '../../formats/jsonl.js';
import { meanInterval } from '../../maths/interval.js';
import { mean, moments, withoutNaN } from '../../maths/moments.js';

/** How an arm of a sweep ended. */
export interface ArmEnd {
  /** Folder of its run. */
  folder: string;
  /** Why it did not come to its end: a finding, or an error. */
  because?: string | undefined;
}

/** What an arm did, from the rows of its run. */
export interface ArmResult {
  steps: number;
  /** Means over the first and the last fifth of the steps. */
  reward: FromTo | undefined;
  entropy: FromTo | undefined;
  length: FromTo | undefined;
  kl: FromTo | undefined;
  /** Share of the groups with different rewards. */
  signal: number | undefined;
  /** Norm of the gradient: mean over the steps, and deviation. */
  gradient: { mean: number; deviation: number } | undefined;
  /** Mean greedy reward of the last evaluation, and that of each of its problems. */
  evaluated: { step: number; mean: number; ofProblem: ReadonlyMap<number, number> } | undefined;
  findings: string[];
}

interface FromTo {
  from: number;
  to: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Reads what the run of an arm has left. */
export async function readArm(folder: string): Promise<ArmResult> {
  const metrics = await rowsOf(folder, 'metrics.jsonl');
  const column = (name: string) =>
    metrics.map((row) => (typeof row[name] === 'number' ? (row[name] as number) : Number.NaN));
  const flat = withoutNaN(column('frac_reward_zero_std'));
  const norms = withoutNaN(column('grad_norm'));
  return {
    steps: metrics.length,
    reward: ends(column('reward')),
    entropy: ends(column('entropy')),
    length: ends(column('completions/mean_length')),
    kl: ends(column('kl')),
    signal: flat.length === 0 ? undefined : 1 - mean(flat),
    gradient: norms.length === 0 ? undefined : moments(norms, norms.length > 1 ? 1 : 0),
    evaluated: await lastEvaluation(folder),
    findings: [...new Set((await rowsOf(folder, 'findings.jsonl')).map(({ code }) => String(code)))],
  };
}

/** Mean over problems of the greedy reward of one arm minus that of another, with Student's 95 % interval. */
export function rewardDifference(one: ArmResult, other: ArmResult): Estimate | undefined {
  const [ours, theirs] = [one.evaluated, other.evaluated];
  if (!ours || !theirs) return undefined;
  const differences = [...ours.ofProblem].flatMap(([problem, value]) => {
    const against = theirs.ofProblem.get(problem);
    return against === undefined ? [] : [value - against];
  });
  if (differences.length === 0) return undefined;
  const interval = meanInterval(differences);
  return { mean: mean(differences), low: interval?.low ?? null, high: interval?.high ?? null };
}

function ends(values: readonly number[]): FromTo | undefined {
  const known = withoutNaN(values);
  if (known.length === 0) return undefined;
  const fifth = Math.ceil(known.length / 5);
  return { from: mean(known.slice(0, fifth)), to: mean(known.slice(-fifth)) };
}

async function lastEvaluation(folder: string): Promise<ArmResult['evaluated']> {
  const rows = await rowsOf(folder, 'eval-completions.jsonl');
  const step = rows.at(-1)?.step;
  const own = rows.filter((row) => row.step === step && row.decoding === 'greedy' && row.reward !== null);
  if (own.length === 0) return undefined;
  const ofProblem = new Map(own.map(({ prompt, reward }) => [prompt as number, reward as number]));
  return { step: step as number, mean: mean([...ofProblem.values()]), ofProblem };
}

async function rowsOf(folder: string, file: string): Promise<Row[]> {
  const rows: Row[] = [];
  // A run that the preflight stopped leaves nothing.
  if (!existsSync(join(folder, file))) return rows;
  for await (const { value } of readJsonLines(join(folder, file))) rows.push(value as Row);
  return rows;
}
