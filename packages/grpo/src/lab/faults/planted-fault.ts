import type { FaultCode as Code } from '../../doctor/check.js';
import type { LabRun } from '../lab-run.js';

/** A bug of the catalogue, re-created: a run of the trainer in which it is at work. */
export interface PlantedFault {
  code: Code;
  /** Forms in which it comes. */
  variants: readonly Variant[];
}

export interface Variant {
  name: string;
  /** Makes the run anew: a fault may have a memory. */
  run(): LabRun;
  /** Faults that leave the same traces: naming one of them is as right. */
  orAs?: readonly Code[];
}
