/** With which data each check was shown to find its fault. What is not here was not shown yet. */
import type { Check } from './check.js';

/**
 * `native`: a run of our own trainer with the fault in it. `TRL run`: a real run of TRL with the fault in it, recorded.
 * `log only`: a log in the form of the trainer that had the fault, its numbers made for the test.
 */
export type Proof = 'native' | 'TRL run' | 'log only';

export const proofs: Readonly<Record<Check['code'], readonly Proof[]>> = {
  'B03.header': ['TRL run'],
  'B12.padding': ['TRL run'],
  'B14.log': ['log only'],
  'B15.first-token': ['TRL run'],
  'B16.log': ['log only'],
  'B19.temperature': ['TRL run'],
  'B20.constant': ['TRL run'],
  'B20.log': ['log only'],
  'B38.constant': ['log only'],
  'B38.likelihood': ['log only'],
  'B38.log': ['log only'],
  'B38.repeat': ['TRL run'],
  'B42.log': ['log only'],
  'B51.log': ['log only'],
  'B52.log': ['log only'],
  'B52.lost': ['TRL run'],
  'B59.monitors': ['log only'],
};
