/** What was examined, and what could be judged of it, in words. */
import type { Check } from '../../doctor/check.js';
import type { Judgement } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { placeInStep } from '../../doctor/finding-line.js';
import type { Evidence } from '../../doctor/outcome.js';
import { checkOf, entryOf, sentenceOf } from '../../doctor/registry.js';
import { formatApart, formatValue } from '../../doctor/sentence.js';
import { printable } from '../../errors/printable.js';
import type { BrokenSummary } from '../../trace/readers/reading.js';

export interface ExaminedReading {
  path: string;
  /** What it was recognised as. */
  kind: string;
  files: readonly string[];
  /** Step records, and entries of the log. */
  records: number;
  entries: number;
  broken: BrokenSummary;
  notes: readonly string[];
  /** Whether anything in it is about GRPO; without that nothing is judged. */
  isGrpo: boolean;
  /** Sentence about the error that ended the run. */
  crash?: string | undefined;
}

const count = (n: number, one: string, many: string) => `${n} ${n === 1 ? one : many}`;

/** `TRL log, 300 log entries, 2 broken lines`. */
export function summaryOf({ kind, records, entries, broken }: ExaminedReading): string {
  return [
    printable(kind),
    ...(records > 0 && !kind.includes('step record') ? [count(records, 'step record', 'step records')] : []),
    ...(entries > 0 ? [count(entries, 'log entry', 'log entries')] : []),
    ...(broken.count > 0 ? [count(broken.count, 'broken line', 'broken lines')] : []),
  ].join(', ');
}

/** How it was read, and what was left out. */
export function notesOf({ notes, broken }: ExaminedReading): string[] {
  const parts = broken.first.map(({ file, line, reason }) => `${whereOf(file, line)} (${printable(reason)})`);
  const more = broken.count > parts.length ? `, and ${broken.count - parts.length} more` : '';
  return [
    ...notes.map((note) => printable(note)),
    ...(broken.count > 0
      ? [`Broken, and left out unless it says otherwise: ${parts.join('; ')}${more}.`]
      : []),
  ];
}

/** A file, and its line where it has lines. */
const whereOf = (file: string, line: number | undefined) =>
  printable(line === undefined ? file : `${file}:${line}`, 300);

/** What a finding says, fit for a terminal whatever stands in the run. */
export const says = (finding: Finding): string => printable(sentenceOf(finding), 1000);

/** Code and name of what was found, with a mark where nothing proves the check: `B38.repeat, scoring mode`. */
export const labelOf = ({ code }: Finding): string =>
  `${code}, ${entryOf(code).name}${checkOf(code).proofs.length > 0 ? '' : ', unproved'}`;

/** The mark of a check that nothing proves. */
export const UNPROVED = 'No run with this fault has shown that the check finds it. It warns at most.';

/** The stage to run again, and whether checkpoints are void; undefined where nothing is lost. */
export function rerunOf({ consequence: { rerun, checkpointsVoid } }: Check): string | undefined {
  if (rerun === 'nothing') return undefined;
  // The same checks judge PPO, SFT and expert iteration.
  return `${rerun === 'GRPO' ? 'the training' : rerun}${checkpointsVoid ? '; the checkpoints are void' : ''}`;
}

/** Sources of a check; without one, the reason why it holds. */
export const sourcesOf = ({ sources, why = '' }: Check): string =>
  sources.length > 0 ? sources.join(', ') : `no public source. ${why}`;

/** The steps of a finding; of a log none, its evidence has them. */
export function stepsOf({ steps, judged }: Finding): string | undefined {
  if (steps.length === 0 || judged < 2) return undefined;
  const shown = steps.slice(0, 8).join(', ');
  return `${shown}${steps.length > 8 ? ', …' : ''} (${steps.length} of the ${judged} that could be judged)`;
}

/**
 * Where evidence points, down to the token: `step 3, completion 5: "…</answer" · length 96`.
 *
 * @param name - the completion's name, `1.2`; else its index says which it is
 */
export function place(evidence: Evidence, name?: string): string {
  const { step, completion, text, values } = evidence;
  const parts = [...(step === undefined ? [] : [`step ${step}`]), ...placeInStep(evidence, name)];
  const { value, level, ...others } = values ?? {};
  // Of a log, the text is the name of the metric.
  const isMetric = text !== undefined && completion === undefined && (value ?? level) !== undefined;
  const shown = formatApart(Object.values(others));
  const numbers = Object.keys(others).map((name, i) => `${name} ${shown[i]}`);
  const told = [
    ...(text === undefined
      ? []
      : [!isMetric ? JSON.stringify(text) : value === undefined ? text : `${text} ${formatValue(value)}`]),
    ...(level === undefined ? [] : [`a level of ${formatValue(level)}`]),
    ...(value !== undefined && !isMetric ? [`value ${formatValue(value)}`] : []),
    ...(numbers.length > 0 ? [numbers.join(', ')] : []),
  ];
  return printable([parts.join(', '), told.join(' · ')].filter((part) => part !== '').join(': '), 300);
}

/** How many checks were made, and what the others lack. */
export function coverage(
  { records, entries }: ExaminedReading,
  judgements: readonly Judgement[],
  checks: readonly Check[],
): string {
  const open = new Map(judgements.filter(({ judged }) => judged === 0).map((one) => [one.code, one]));
  const made = judgements.length - open.size;
  const of = (...scopes: Check['scope'][]) =>
    checks.filter(({ code, scope }) => open.has(code) && scopes.includes(scope));
  const missing = (scoped: readonly Check[]) => mostOf(scoped.map(({ code }) => open.get(code)!.missing));
  const [steps, logs] = [of('step', 'run'), of('log')];
  const parts = [
    ...(steps.length === 0
      ? []
      : [`${steps.length} need ${records === 0 ? 'step records' : `more of a record (${missing(steps)})`}`]),
    ...(logs.length === 0
      ? []
      : [
          `${logs.length} need ${entries === 0 ? 'a log' : `other metrics or more entries (${missing(logs)})`}`,
        ]),
  ];
  return open.size === 0
    ? `${count(made, 'check was made', 'checks were made')}.`
    : `${made} of ${judgements.length} checks could be made, and the others are no passes: ${parts.join(', ')}.`;
}

/** As many names are listed; the others are counted. */
const MOST_UNREAD = 8;

/** The metrics that no check reads, so that nobody takes them for judged. */
export function unreadNote(unread: readonly string[]): string[] {
  if (unread.length === 0) return [];
  const more = unread.length > MOST_UNREAD ? ` and ${unread.length - MOST_UNREAD} more` : '';
  const names = unread.slice(0, MOST_UNREAD).map((name) => printable(name, 60));
  return [
    `No check reads ${names.join(', ')}${more}. Where one is a metric under a name of its own, say so: --metric NAME=COLUMN.`,
  ];
}

/** The names that most lists have. */
function mostOf(lists: readonly (readonly string[])[]): string {
  const counts = new Map<string, number>();
  // What stands behind a colon says why.
  for (const name of lists.flat().map((text) => text.split(':', 1)[0]!))
    counts.set(name, (counts.get(name) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
  return most.map(([name]) => name).join(', ');
}
