import { inspect } from 'node:util';
import { isObject } from '../formats/json.js';
import type { Grounds } from './reward-table.js';

/** Longer rules are no rules but explanations: they would fill the run's files. */
const MAX_RULE = 200;

/** A reward function's result for one completion: its value, NaN for no opinion, and its grounds. */
export interface ReadValue {
  value: number;
  grounds: Grounds | null;
}

/**
 * Reads a reward function's result for one completion: a finite number, null, or either in a verdict.
 *
 * @returns the problem in words for anything else
 */
export function readValue(returned: unknown): ReadValue | string {
  if (returned === null) return { value: Number.NaN, grounds: null };
  if (isFiniteNumber(returned)) return { value: returned, grounds: null };
  if (!isObject(returned) || !Object.hasOwn(returned, 'value'))
    return `returned ${show(returned)}, not a finite number`;
  const { value, parts, rule, provider, reply } = returned;
  if (value !== null && !isFiniteNumber(value))
    return `returned a verdict whose value is ${show(value)}, not a finite number`;
  if (parts !== undefined && !isObject(parts))
    return `returned a verdict whose parts are ${show(parts)}, not numbers by name`;
  const wrong = Object.entries(parts ?? {}).find(([name, part]) => name === '' || !isFiniteNumber(part));
  if (wrong) return `returned a verdict whose part '${wrong[0]}' is ${show(wrong[1])}, not a finite number`;
  if (rule !== undefined && !(typeof rule === 'string' && rule !== '' && rule.length <= MAX_RULE))
    return `returned a verdict whose rule is ${show(rule)}, not a text of 1 to ${MAX_RULE} characters`;
  const words = Object.entries({ provider, reply }).find(
    ([, text]) => text !== undefined && typeof text !== 'string',
  );
  if (words) return `returned a verdict whose ${words[0]} is ${show(words[1])}, not text`;
  const grounds = {
    ...(parts && Object.keys(parts).length > 0 && { parts: { ...parts } as Record<string, number> }),
    ...(rule !== undefined && { rule }),
    ...(typeof provider === 'string' && { provider }),
    ...(typeof reply === 'string' && { reply }),
  };
  return { value: value ?? Number.NaN, grounds: Object.keys(grounds).length > 0 ? grounds : null };
}

const isFiniteNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);

/** A value of any kind in one short line. */
export const show = (value: unknown) =>
  inspect(value, { depth: 0, breakLength: Infinity, maxStringLength: 80 });
