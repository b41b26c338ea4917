/** What a check is: a test of one thing that holds in a correct run, as data with one pure function. */

import type { Declared, StepRecord } from '../trace/index.js';
import { type InputName, type Inputs, inputs } from './inputs.js';
import type { LogView } from './log-view.js';
import { type Measurements, notApplicable, type Outcome } from './outcome.js';
import type { Source } from './source.js';

/** Stages of a step, and of a run, that something can be wrong in. */
export type Stage =
  | 'template'
  | 'tokens'
  | 'masks'
  | 'mask plan'
  | 'generation'
  | 'reward'
  | 'advantage'
  | 'logprob'
  | 'loss'
  | 'kl'
  | 'optimizer'
  | 'weight sync'
  | 'data'
  | 'checkpoint'
  | 'evaluation'
  | 'configuration'
  | 'performance';

/**
 * An identity holds in every correct implementation; only it may fail. A heuristic depends on task, model and phase: it
 * warns or informs.
 */
export type Kind = 'identity' | 'heuristic';

/** The number of a known fault, `B01` and up, or of a hand-over that the audit holds to the plain path, `H01` and up. */
export type FaultCode = `${'B' | 'H'}${number}`;
export type CheckCode = `${FaultCode}.${string}`;

/**
 * Data on which a check was seen to find its fault. `native`: a run of our own trainer with the fault in it. `TRL run`: a
 * real run of TRL with the fault in it, recorded. `PyTorch loop`: one of a trainer in plain PyTorch. `log only`: a log in the
 * form of the trainer that had the fault, its numbers made for the test.
 */
export type Proof = 'native' | 'TRL run' | 'PyTorch loop' | 'log only';

/** What a finding makes worthless. */
export interface Consequence {
  rerun: 'nothing' | 'evaluation' | 'GRPO' | 'SFT and GRPO';
  checkpointsVoid: boolean;
}

interface CheckInfo {
  /** Unique: the fault, a dot, and what is looked at: `B07.ids`. */
  code: CheckCode;
  /** What must hold, as a statement. */
  title: string;
  stage: Stage;
  kind: Kind;
  /** Order of diagnosis, 1 to 8: what is wrong earlier may bring about what is seen later. */
  level: number;
  /** Turn within the level, from 1: of findings that weigh the same the first leads. Of one turn the numbers decide. */
  rank: number;
  /** The test with its threshold, in words and numbers. */
  threshold: string;
  /** Where the fault, or the definition that the test follows from, can be read. Empty where nothing can be opened. */
  sources: readonly Source[];
  /** What was seen there, or why the threshold lies where it lies; needed without sources. */
  why?: string;
  /** What to do when it does not hold. */
  remedy: string;
  consequence: Consequence;
  /** Faults that this one brings about, or single checks of one: their findings are its consequences. */
  induces?: readonly (FaultCode | CheckCode)[];
  /** For a heuristic: what would settle it. */
  settles?: string;
  /** How it was shown to find its fault. Empty where it was not yet: then it warns at most. */
  proofs: readonly Proof[];
  /** Whether it answers what people ask of a run in which nothing is found: told only where nothing warns or fails. */
  aside?: true;
  /** What a finding says, one or two sentences. */
  says(measured: Measurements): string;
}

/** A check of one step record. */
export interface StepCheck extends CheckInfo {
  scope: 'step';
  needs: readonly InputName[];
  /** Whether chance may bring it about in one step: it only informs where the last step that could be judged passes. */
  byChance?: true;
  test(record: StepRecord): Outcome;
}

/** Values of a metric that a check finds nothing wrong with, where it holds their level to a bound. */
export interface MetricRange {
  metric: string;
  low?: number;
  high?: number;
}

/** A check of scalar metrics over steps. */
export interface LogCheck extends CheckInfo {
  scope: 'log';
  /** Metrics that must be in the log. */
  needs: readonly string[];
  /** Whether it takes log-probs for those that completions were sampled from: not asked where they are estimates. */
  exactLogprobs?: true;
  test(log: LogView): Outcome;
  /** The bounds of its test as ranges, for logs that it can judge: a page draws them behind the curves. */
  ranges?(log: LogView): readonly MetricRange[];
}

/** A check over the records of a run: it keeps one small value of each, and judges them together. */
export interface RunCheck extends CheckInfo {
  scope: 'run';
  needs: readonly InputName[];
  /** What it keeps of a record, or what is missing there. */
  see(record: StepRecord): { value: unknown } | { missing: readonly string[] };
  /** By step, ascending. */
  test(seen: readonly Observation<unknown>[]): Outcome;
}

/** What a check over a run kept of one record. */
export interface Observation<T> {
  step: number;
  value: T;
}

export type Check = StepCheck | RunCheck | LogCheck;

/** A check as it is written: what is left out follows from the rest, or is empty. */
type Written<C extends CheckInfo, Own extends string> = Omit<
  C,
  'scope' | 'kind' | 'sources' | 'proofs' | 'says' | Own
> &
  Partial<Pick<C, 'sources' | 'proofs'>>;

/** Fills in the rest of a check: only what nothing needs to settle may fail. */
const whole = <C extends Partial<Pick<CheckInfo, 'settles' | 'sources' | 'proofs'>>>(check: C) => ({
  ...check,
  sources: check.sources ?? [],
  proofs: check.proofs ?? [],
  kind: (check.settles === undefined ? 'identity' : 'heuristic') as Kind,
});

/** The stage of a step, by its name in the trainer, that must do as declared for the identities of a check. */
const STAGE_OF: Partial<Record<Stage, string>> = {
  template: 'render',
  generation: 'sample',
  reward: 'score',
  'mask plan': 'plan',
  advantage: 'advantage',
  logprob: 'logprob',
  loss: 'objective',
  kl: 'objective',
  optimizer: 'update',
};

/** Why an identity is not asked: a user's own stage is in the place of ours. */
function replacedBy({ stage, kind }: Pick<Check, 'stage' | 'kind'>, declared?: Declared): string | undefined {
  const replaced = STAGE_OF[stage];
  return replaced && kind === 'identity' && declared?.ownStages?.includes(replaced)
    ? `the standard stage ${replaced}: a custom stage need not do as declared`
    : undefined;
}

/**
 * Makes a check of a step; its test gets the inputs that it names, all of them present, and its sentence what the test
 * measured.
 */
export function stepCheck<const N extends InputName, M extends Measurements>(
  check: Written<StepCheck, 'needs' | 'test'> & {
    needs: readonly N[];
    test(given: Pick<Inputs, N>, record: StepRecord): Outcome<M>;
    says(measured: M): string;
  },
): StepCheck {
  const { needs, test, ...written } = check;
  const info = whole(written);
  return {
    ...info,
    scope: 'step',
    needs,
    test(record) {
      const replaced = replacedBy(info, record.declared);
      if (replaced !== undefined) return notApplicable(replaced);
      const { given, missing } = inputsOf(record, needs);
      return given ? test(given, record) : notApplicable(...missing);
    },
  };
}

/** Makes a check of several steps; `see` gets the inputs that it names and returns what to keep, or what is missing. */
export function runCheck<const N extends InputName, T extends object, M extends Measurements>(
  check: Written<RunCheck, 'needs' | 'see' | 'test'> & {
    needs: readonly N[];
    see(given: Pick<Inputs, N>, record: StepRecord): T | string;
    test(seen: readonly Observation<T>[]): Outcome<M>;
    says(measured: M): string;
  },
): RunCheck {
  const { needs, see, test, ...written } = check;
  return {
    ...whole(written),
    scope: 'run',
    needs,
    see(record) {
      const { given, missing } = inputsOf(record, needs);
      const value = given ? see(given, record) : undefined;
      return typeof value === 'object' ? { value } : { missing: value === undefined ? missing : [value] };
    },
    test: (seen) => test(seen as readonly Observation<T>[]),
  };
}

/** The inputs of the names, or those that are missing. A list without elements gives nothing to judge. */
function inputsOf<N extends InputName>(
  record: StepRecord,
  needs: readonly N[],
): { given: Pick<Inputs, N> | undefined; missing: string[] } {
  const given: Partial<Record<InputName, unknown>> = {};
  const missing: string[] = [];
  for (const name of needs) {
    const { path, from, lack } = inputs[name];
    given[name] = from(record);
    if (isMissing(given[name])) missing.push(lack?.(record) ?? path);
  }
  return { given: missing.length > 0 ? undefined : (given as Pick<Inputs, N>), missing };
}

function isMissing(value: unknown): boolean {
  return (
    value === undefined || ((Array.isArray(value) || ArrayBuffer.isView(value)) && lengthOf(value) === 0)
  );
}

const lengthOf = (list: unknown) => (list as ArrayLike<unknown>).length;

/** Makes a check of a log; its test is asked only where every needed metric is there. */
export function logCheck<M extends Measurements>(
  check: Written<LogCheck, 'test'> & {
    test(log: LogView): Outcome<M>;
    says(measured: M): string;
  },
): LogCheck {
  const info = whole(check);
  return {
    ...info,
    scope: 'log',
    test(log) {
      const replaced = replacedBy(info, log.declared);
      if (replaced !== undefined) return notApplicable(replaced);
      if (check.exactLogprobs && log.isEstimated)
        return notApplicable('exact log-probs: those of a masked-diffusion model are estimates');
      const missing = check.needs.filter((name) => !log.has(name));
      return missing.length > 0 ? notApplicable(...missing) : check.test(log);
    },
  };
}
