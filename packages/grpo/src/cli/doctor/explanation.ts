/** The page of a known fault for a terminal: what it is, and all facts about its checks. */
import { UsageError } from '../../config/index.js';
import type { Check } from '../../doctor/check.js';
import { factsOf } from '../../doctor/facts.js';
import type { Fault } from '../../doctor/fault.js';
import { faults, handOvers, registry } from '../../doctor/registry.js';
import { nearestName } from '../../errors/nearest-name.js';
import { colors } from '../colors.js';
import { twoColumns, wrap } from '../text-layout.js';

const NAMES = 13;

/**
 * The fault of a code: its own, or that of one of its checks.
 *
 * @throws UsageError naming the nearest known code
 */
export function faultFor(code: string): Fault {
  const pages = [...faults, ...handOvers];
  const fault = pages.find((one) => one.code === code || one.checks.some((check) => check.code === code));
  if (fault) return fault;
  const known = [...pages, ...registry].map((one) => one.code);
  throw new UsageError(`Unknown code ${code}. The nearest known code is ${nearestName(code, known)}.`);
}

/** The whole page in lines of at most `width` characters, ending in a newline. */
export function explanation({ code, name, title, left, checks }: Fault, width: number): string {
  const intro = [
    ...wrap(`${code}, ${name}: ${title}.`, width).map(colors.bold),
    ...(left === undefined ? [] : wrap(PLACES[left], width)),
  ];
  return `${[intro, ...checks.map((check) => section(check, width))].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

const PLACES: Readonly<Record<NonNullable<Fault['left']>, string>> = {
  'pre-flight': 'Some forms of this fault show only in the configuration, before the run.',
  'live model': 'Some forms of this fault show only in the live model.',
};

const section = (check: Check, width: number): string[] => [
  ...wrap(`${check.code}: ${check.title}.`, width),
  ...twoColumns(factsOf(check), NAMES, width - 2).map((line) => `  ${line}`),
];
