/** The catalogue: every known fault by its number, and the checks of all of them in the order of diagnosis. */
import { HAND_OVERS } from '../trace/index.js';
import type { Check, FaultCode } from './check.js';
import * as every from './every-fault.js';
import type { Fault } from './fault.js';
import { type Finding, faultOf } from './finding.js';

const entries: readonly Fault[] = Object.values(every);

/** Every known fault, by number: a module names what it exports in the order of the alphabet. */
export const faults: readonly Fault[] = entries.filter(({ code }) => code.startsWith('B'));

/** Every hand-over that the audit compares, in the order of a step. */
export const handOvers: readonly Fault[] = HAND_OVERS.map(
  (handOver) => entries.find(({ name }) => name === handOver)!,
);

/** The checks that judge an audit alone. */
export const audits: readonly Check[] = handOvers
  .flatMap(({ checks }) => checks)
  .filter(({ scope }) => scope === 'step');

/** Every check, in the order of diagnosis. */
export const registry: readonly Check[] = [...faults, ...handOvers]
  .flatMap(({ checks }) => checks)
  .sort((a, b) => a.level - b.level || a.rank - b.rank);

const faultByCode = new Map<FaultCode, Fault>([...faults, ...handOvers].map((fault) => [fault.code, fault]));
const checkByCode = new Map<Check['code'], Check>(registry.map((check) => [check.code, check]));

export const faultBy = (code: FaultCode): Fault => faultByCode.get(code)!;

/** The fault that a check belongs to. */
export const entryOf = (code: Check['code']): Fault => faultBy(faultOf(code));

export const checkOf = (code: Check['code']): Check => checkByCode.get(code)!;

/** What a finding says, one or two sentences. */
export const sentenceOf = ({ code, measured }: Finding): string => checkOf(code).says(measured);
