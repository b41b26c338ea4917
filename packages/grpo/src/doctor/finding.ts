import type { Check, FaultCode } from './check.js';
import type { Evidence, Measurements } from './outcome.js';

export type Severity = 'fail' | 'warn' | 'inform';

/** Something that does not hold, as data. */
export interface Finding {
  code: Check['code'];
  fault: FaultCode;
  severity: Severity;
  /** Order of diagnosis, 1 to 8. */
  level: number;
  /** Steps on which it was found, ascending; of how many that could be judged. */
  steps: readonly number[];
  judged: number;
  measured: Measurements;
  evidence: readonly Evidence[];
  /** The finding that leads: this one is its consequence (`sure`), or may be. */
  inducedBy?: { code: Check['code']; sure: boolean };
}

export const faultOf = (code: Check['code']): FaultCode => code.slice(0, code.indexOf('.')) as FaultCode;
