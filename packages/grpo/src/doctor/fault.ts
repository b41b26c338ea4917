/** What an entry of the catalogue is: one known way in which a GRPO pipeline goes wrong, with all that is known of it. */
import type { Check, FaultCode } from './check.js';

/** Who could tell of it, where no check of records or logs does. */
export type Place = 'pre-flight' | 'live model';

export interface Fault {
  code: FaultCode;
  /** Two or three words; the file is named after them. */
  name: string;
  /** What is wrong, as a statement. */
  title: string;
  /** Where what is left to look at must be looked at. */
  left?: Place;
  checks: readonly Check[];
}
