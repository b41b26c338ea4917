/** Whether the doctor finds what it should, and is silent where nothing is wrong. */
import { type Diagnosis, examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { faultBy, registry } from '../doctor/registry.js';
import { shapeProblem } from '../trace/shapes.js';
import { cleanRuns } from './clean-runs.js';
import { faults, type PlantedFault, type Variant } from './faults/index.js';
import { disposePolicies } from './lab-policy.js';
import type { CleanRun } from './lab-run.js';
import { atSeed, type LabResult, labRun } from './lab-run.js';

/** What the doctor said of one form of a fault. */
export interface FaultVerdict {
  code: PlantedFault['code'];
  /** The fault's name in the catalogue. */
  name: string;
  variant: string;
  /** Findings that warn or fail, the cause first. */
  found: Pick<Finding, 'code' | 'severity'>[];
  detected: boolean;
  /** Whether the cause is the fault, or one that leaves the same traces; the audit's hand-overs may lead. */
  named: boolean;
}

/** What it said of a run in which nothing is wrong. */
export interface CleanVerdict {
  run: string;
  steps: number;
  /** Findings that warn or fail, with the reason where a warning is true of the run's settings. */
  alarms: (Pick<Finding, 'code' | 'severity' | 'measured'> & { steps: number; explained?: string })[];
}

/** All in numbers. An alarm counts once for each step that it was found on. */
export interface SelftestSummary {
  faults: number;
  variants: number;
  detected: number;
  named: number;
  cleanSteps: number;
  falseFailures: number;
  falseWarnings: number;
}

/** What is tried; everything that there is when left out. */
export interface SelftestOptions {
  faults?: readonly PlantedFault[];
  clean?: readonly CleanRun[];
  onFault?(verdict: FaultVerdict): void;
  onClean?(verdict: CleanVerdict): void;
}

/** Everything that the doctor says of what a run left. */
export const diagnose = (result: LabResult): Diagnosis => examine(result, registry);

/** Runs every fault and every clean run, examines what they leave, and counts. */
export async function selftest(options: SelftestOptions = {}): Promise<SelftestSummary> {
  const { faults: tried = faults, clean = cleanRuns(), onFault, onClean } = options;
  const verdicts: FaultVerdict[] = [];
  const cleans: CleanVerdict[] = [];
  try {
    for (const fault of tried) {
      for (const variant of fault.variants) {
        verdicts.push(await tryFault(fault, variant));
        onFault?.(verdicts.at(-1)!);
      }
    }
    for (const run of clean) {
      cleans.push(await tryClean(run));
      onClean?.(cleans.at(-1)!);
    }
  } finally {
    await disposePolicies();
  }
  const alarms = cleans.flatMap((verdict) => verdict.alarms);
  const stepsOf = (list: typeof alarms) => list.reduce((sum, { steps }) => sum + steps, 0);
  return {
    faults: tried.length,
    variants: verdicts.length,
    detected: verdicts.filter(({ detected }) => detected).length,
    named: verdicts.filter(({ named }) => named).length,
    cleanSteps: cleans.reduce((sum, { steps }) => sum + steps, 0),
    falseFailures: stepsOf(alarms.filter(({ severity }) => severity === 'fail')),
    falseWarnings: stepsOf(alarms.filter(({ severity, explained }) => severity === 'warn' && !explained)),
  };
}

/** Runs one form of a fault and examines it. */
export async function tryFault(
  { code }: PlantedFault,
  { name: variant, run, orAs = [] }: Variant,
  seed = 0,
): Promise<FaultVerdict> {
  const sick = sickOf(diagnose(await labRun(atSeed(run(), seed))));
  // The audit says at which hand-over something is wrong, a fault what.
  const leading = [sick[0], sick.find(({ code: own }) => !own.startsWith('H'))];
  return {
    code,
    name: faultBy(code).name,
    variant,
    found: sick.map(({ code: own, severity }) => ({ code: own, severity })),
    detected: sick.length > 0,
    named: leading.some((one) => one !== undefined && [code, ...orAs].includes(one.fault)),
  };
}

/** Runs what is clean and examines it. */
export async function tryClean(run: CleanRun): Promise<CleanVerdict> {
  const result = await labRun(run);
  const misfit = result.records.map(shapeProblem).find((problem) => problem !== undefined);
  if (misfit !== undefined) throw new Error(`the record of “${run.name}” cannot be read: ${misfit}`);
  const alarms = sickOf(diagnose(result)).map(({ code, severity, measured, steps }) => {
    const explained = severity === 'warn' ? run.explained?.[code] : undefined;
    return { code, severity, measured, steps: Math.max(1, steps.length), ...(explained && { explained }) };
  });
  return { run: run.name, steps: result.records.length, alarms };
}

const sickOf = ({ findings }: Diagnosis): Finding[] =>
  findings.filter(({ severity }) => severity !== 'inform');
