/**
 * Mutants that nobody chose: mistakes in the compiled trainer, drawn by a seed, each tried in a small run with the
 * checks on. A campaign keeps what it has done in its folder, and goes on from there.
 */

import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { writeLabPolicy } from '../lab-policy.js';
import { type Configuration, configurationsOf } from './configurations.js';
import { type Executed, readCoverage } from './coverage.js';
import { drawMutants, type Mutant } from './draw.js';
import { applied, type Operator } from './operators.js';
import { type Ended, tryIn } from './processes.js';
import { sourceLine } from './source-lines.js';
import { readSubjects } from './subjects.js';
import type { CleanRuns, MutantResult, TrialRequest, Verdict } from './trial-runs.js';

/** A mutant, and what became of it. */
export interface Outcome {
  index: number;
  /** `packages/grpo/src/step/updates.ts:12`. */
  place: string;
  /** Stages that a finding about it may be filed under. */
  stages: readonly string[];
  operator: Operator;
  original: string;
  mutated: string;
  configuration: number;
  effect: MutantResult['effect'] | 'crashed';
  /** Of one that crashed: its last words. */
  crash?: string;
  /** Of one that is wrong. */
  verdict?: Verdict;
}

/** Everything that a campaign came to. */
export interface CampaignResult {
  seed: number;
  configurations: Configuration[];
  clean: CleanRuns[];
  /** Changes that the operators make of what is executed, of which mutants are drawn. */
  sites: number;
  outcomes: Outcome[];
}

export interface CampaignOptions {
  seed: number;
  /** Wrong mutants that it tries; others do not count. */
  count: number;
  folder: string;
  signal: AbortSignal;
  say(text: string): void;
  tried(outcome: Outcome, wrong: number): void;
}

/** Goes on with the campaign of a folder until it has tried as many mutants, or is interrupted. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { seed, folder, signal, say } = options;
  const model = join(folder, 'model');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(model)) await writeLabPolicy(model, seed);
  const configurations = configurationsOf(seed);
  const base = { seed, model };
  const executed: Executed[] = [];
  const clean: CleanRuns[] = [];
  await inParallel(configurations, async (configuration) => {
    const { index } = configuration;
    const request = { ...base, configuration: index, result: join(folder, `clean-${index}.result`) };
    executed[index] = await coverageOf(
      { ...request, kind: 'coverage' },
      join(folder, `coverage-${index}`),
      options,
    );
    clean[index] = await baselineOf({ ...request, kind: 'baseline' }, cleanPath(folder, index), options);
    say(
      `configuration ${index}: ${clean[index].verdicts.length} clean runs; ${configuration.settings.slice(-12).join(' ')}`,
    );
  });
  signal.throwIfAborted();
  const mutants = drawMutants(readSubjects(), executed, seed);
  say(`${mutants.length} mutants of what these runs execute.`);
  const outcomes = await tryMutants(mutants, base, options);
  return { seed, configurations, clean, sites: mutants.length, outcomes };
}

const cleanPath = (folder: string, index: number) => join(folder, `clean-${index}.v8`);

async function coverageOf(
  request: TrialRequest,
  dir: string,
  { signal }: CampaignOptions,
): Promise<Executed> {
  if (!existsSync(dir) || readdirSync(dir).length === 0)
    resultOf(request, await tryIn(request, { signal, coverage: dir }));
  return readCoverage(dir);
}

async function baselineOf(
  request: TrialRequest,
  path: string,
  { signal }: CampaignOptions,
): Promise<CleanRuns> {
  if (!existsSync(path))
    writeFileSync(path, serialize(resultOf(request, await tryIn(request, { signal, limit: 300_000 }))));
  return deserialize(readFileSync(path)) as CleanRuns;
}

function resultOf({ configuration }: TrialRequest, ended: Ended<unknown>): unknown {
  if ('result' in ended) return ended.result;
  throw new Error(`the clean run of configuration ${configuration} crashed: ${ended.crash}`);
}

/** Tries mutants in the order of the draw, but for those that were tried before. */
async function tryMutants(
  mutants: readonly Mutant[],
  base: Pick<TrialRequest, 'seed' | 'model'>,
  { folder, count, signal, tried }: CampaignOptions,
): Promise<Outcome[]> {
  const path = join(folder, 'outcomes.jsonl');
  const done = existsSync(path) ? readOutcomes(path) : new Map<number, Outcome>();
  const outcomes: Outcome[] = [];
  let wrong = 0;
  const note = (outcome: Outcome) => {
    outcomes.push(outcome);
    if (outcome.effect === 'wrong') wrong++;
    tried(outcome, wrong);
  };
  await inParallel(
    mutants,
    async (mutant) => {
      const { index, subject, mutation, configuration } = mutant;
      const described = describe(mutant);
      const before = done.get(index);
      if (before && before.place === described.place && before.mutated === described.mutated)
        return note(before);
      const request: TrialRequest = {
        ...base,
        kind: 'mutant',
        configuration,
        result: join(folder, `mutant-${index}`),
        baseline: cleanPath(folder, configuration),
        mutant: { url: subject.url, source: applied(subject.text, mutation) },
      };
      const ended = await tryIn<MutantResult>(request, { signal });
      const outcome: Outcome =
        'result' in ended
          ? { ...described, ...ended.result }
          : { ...described, effect: 'crashed', crash: ended.crash };
      appendFileSync(path, `${JSON.stringify(outcome)}\n`);
      note(outcome);
    },
    () => wrong >= count || signal.aborted,
  );
  return outcomes;
}

function readOutcomes(path: string): Map<number, Outcome> {
  const lines = readFileSync(path, 'utf8').split('\n');
  const outcomes = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Outcome);
  return new Map(outcomes.map((outcome) => [outcome.index, outcome]));
}

function describe({ index, subject, mutation, configuration }: Mutant): Omit<Outcome, 'effect'> {
  const { operator, start, end, text } = mutation;
  return {
    index,
    place: `${subject.path}:${sourceLine(subject, start)}`,
    stages: subject.stages,
    operator,
    original: subject.text.slice(start, end),
    mutated: text,
    configuration,
  };
}

/** Does the work on all processors, in order; what a signal cuts short is left out. */
async function inParallel<T>(
  list: readonly T[],
  work: (item: T) => Promise<void>,
  isEnough: () => boolean = () => false,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < list.length && !isEnough()) {
      try {
        await work(list[next++]!);
      } catch (error) {
        if ((error as Error).name !== 'AbortError') throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
}
