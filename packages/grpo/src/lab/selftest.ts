/** Whether the doctor finds what it should: every fault against every check, and clean runs against all of them. */
import { type Diagnosis, examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { registry } from '../doctor/registry.js';
import type { Fault, Variant } from './faults/index.js';
import { type LabResult, labRun } from './run.js';

/** What the doctor said of one form of a fault. */
export interface FaultVerdict {
  code: Fault['code'];
  title: string;
  variant: string;
  /** Findings that warn or fail, the cause first. */
  found: Pick<Finding, 'code' | 'severity'>[];
  detected: boolean;
  /** Whether the cause is the fault, or one that leaves the same traces. */
  named: boolean;
  seconds: number;
}

/** Everything that the doctor says of what a run left. */
export const diagnose = (result: LabResult): Diagnosis => examine(result, registry);

/** Runs one form of a fault and examines it. */
export async function tryFault(
  { code, title }: Fault,
  { name, run, orAs = [] }: Variant,
): Promise<FaultVerdict> {
  const start = performance.now();
  const { findings } = diagnose(await labRun(run()));
  const sick = findings.filter(({ severity }) => severity !== 'inform');
  const cause = sick[0]?.fault;
  return {
    code,
    title,
    variant: name,
    found: sick.map(({ code: own, severity }) => ({ code: own, severity })),
    detected: sick.length > 0,
    named: cause !== undefined && [code, ...orAs].includes(cause),
    seconds: (performance.now() - start) / 1000,
  };
}
