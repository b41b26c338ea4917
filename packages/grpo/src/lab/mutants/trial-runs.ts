/** The runs of one trial: what a configuration does without a fault, or what becomes of a mutant. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import type { Check } from '../../doctor/check.js';
import { examine } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { checkOf, registry } from '../../doctor/registry.js';
import { holdsRun } from '../../run/folder/run-folder.js';
import { readRun } from '../../trace/readers/index.js';
import { type Configuration, configurationsOf } from './configurations.js';
import { type Baseline, type Effect, effectOf } from './judge.js';
import type { ReplacedSource } from './replace-source.js';
import { type Course, smallRun } from './small-run.js';
import { type RunSummary, type Statistics, statisticsOf, summaryOf } from './summary.js';

/** What a process is asked to try. */
export interface TrialRequest {
  kind: 'coverage' | 'baseline' | 'mutant';
  /** Seed of the campaign, which draws the configurations, and which of them is tried. */
  seed: number;
  configuration: number;
  /** Folder of the model that runs start from. */
  model: string;
  /** File that the result is written to. */
  result: string;
  /** The clean runs of the configuration, and the module that is replaced; of a mutant. */
  baseline?: string;
  mutant?: ReplacedSource;
}

/** What the doctor said of a run. */
export interface Verdict {
  /** The finding that stopped the run, and after how many steps: 0 for its preflight. */
  stopped?: { step: number; code: Check['code']; stage: Check['stage'] };
  /** Checks that fail or warn on what the run left, the cause first. */
  failed: Check['code'][];
  warned: Check['code'][];
}

/** What a configuration does without a fault. */
export interface CleanRuns extends Baseline {
  /** What the doctor said of each seed. */
  verdicts: Verdict[];
}

/** What became of a mutant that did not crash. */
export interface MutantResult {
  effect: Effect;
  /** Of one that is wrong. */
  verdict?: Verdict;
}

/** Seed of the runs that mutants are compared with, and others. */
const SEED = 0;
const OTHER_SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9];

/** Does what is asked, and writes what came of it to `result` of the request. */
export async function runTrial(request: TrialRequest): Promise<void> {
  const trial = new Trial(request);
  const result = await trial[request.kind]();
  writeFileSync(request.result, serialize(result));
}

class Trial {
  readonly #configuration: Configuration;

  constructor(private readonly request: TrialRequest) {
    this.#configuration = configurationsOf(request.seed)[request.configuration]!;
  }

  /** One clean run, for what it executes. */
  coverage(): Promise<RunSummary> {
    return this.#run({}, summaryOf);
  }

  async baseline(): Promise<CleanRuns> {
    const clean = await this.#run({}, summaryOf);
    const otherThreads = await this.#run({ threads: 2 }, summaryOf);
    const others: Statistics[] = [];
    const verdicts: Verdict[] = [];
    for (const seed of [SEED, ...OTHER_SEEDS]) {
      const { verdict, statistics } = await this.#run({ seed, isChecked: true }, async (output, course) => ({
        verdict: await verdictOf(output, course),
        statistics: holdsRun(output) ? statisticsOf(output) : {},
      }));
      console.log(`configuration ${this.request.configuration}: clean at seed ${seed}`);
      verdicts.push(verdict);
      if (seed !== SEED && !verdict.stopped) others.push(statistics);
    }
    return { clean, otherThreads, others, verdicts };
  }

  async mutant(): Promise<MutantResult> {
    const baseline = deserialize(readFileSync(this.request.baseline!)) as CleanRuns;
    const effect = effectOf(await this.#run({}, summaryOf), baseline);
    return effect === 'wrong'
      ? { effect, verdict: await this.#run({ isChecked: true }, verdictOf) }
      : { effect };
  }

  /** Does a run, and reads what it left before that is deleted. It has a model of its own: a mutant may spoil it. */
  async #run<T>(
    { seed = SEED, threads = 1, isChecked = false },
    read: (output: string, course: Course) => T | Promise<T>,
  ): Promise<T> {
    const work = `${this.request.result}.run`;
    const [model, output] = [join(work, 'model'), join(work, 'run')];
    rmSync(work, { recursive: true, force: true });
    cpSync(this.request.model, model, { recursive: true });
    try {
      const options = { configuration: this.#configuration, model, output };
      return await read(output, await smallRun({ ...options, seed, threads, isChecked }));
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
}

/** What stopped the run, and what the doctor says of the folder afterwards: a run that its preflight stopped leaves none. */
async function verdictOf(output: string, { stopped }: Course): Promise<Verdict> {
  const findings = holdsRun(output) ? await findingsIn(output) : stopped ? [stopped.finding] : [];
  const codes = (severity: string) =>
    findings.filter((one) => one.severity === severity).map(({ code }) => code);
  return {
    ...(stopped && {
      stopped: { step: stopped.step, code: stopped.finding.code, stage: checkOf(stopped.finding.code).stage },
    }),
    failed: codes('fail'),
    warned: codes('warn'),
  };
}

async function findingsIn(output: string): Promise<Finding[]> {
  const { records, series, declared } = await readRun(output);
  const material = { ...(records && { records }), ...(series && { series }), ...(declared && { declared }) };
  return examine(material, registry).findings;
}
