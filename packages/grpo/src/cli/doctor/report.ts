/** A diagnosis for a terminal: the cause first, what follows from it after it, and what could not be judged last. */

import type { Check } from '../../doctor/check.js';
import type { Diagnosis } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import { entryOf } from '../../doctor/registry.js';
import { printable } from '../../errors/printable.js';
import { colors } from '../colors.js';
import { twoColumns, wrap } from '../text-layout.js';
import { arrange } from './arrange.js';
import {
  coverage,
  type Examined,
  labelOf,
  notesOf,
  place,
  rerunOf,
  says,
  sourcesOf,
  stepsOf,
  summaryOf,
  UNPROVED,
} from './examined.js';

const MARGIN = 6;
const NAMES = 12;

const LABELS = {
  fail: colors.red(colors.bold('FAIL')),
  warn: colors.yellow(colors.bold('WARN')),
  inform: colors.cyan('note'),
};

/** The whole report in lines of at most `width` characters, ending in a newline. */
export function terminalReport(
  examined: Examined,
  diagnosis: Diagnosis,
  checks: readonly Check[],
  width = 100,
): string {
  const found = arrange(diagnosis.findings);
  const full = (finding: Finding, signs: readonly Finding[] = []) => whole(finding, signs, checks, width);
  const short = (finding: Finding) => brief(finding, width);
  const section = (title: string, findings: readonly Finding[], write: (finding: Finding) => string[]) =>
    findings.length === 0 ? [] : [[title], ...blocksOf(findings.map(write))];
  const judged = diagnosis.judgements.some((judgement) => judgement.judged > 0);
  const blocks = [
    wrap(`${printable(examined.path, 300)}: ${summaryOf(examined)}.`, width),
    ...found.cause.map((cause) => full(cause, found.sign)),
    ...(found.cause.length > 0 ? [] : [verdict(examined, judged)]),
    ...section('This follows from it:', found.follows, short),
    ...section('This may follow from it, and may not:', found['may follow'], short),
    ...section('This is wrong besides:', found.besides, (finding) => full(finding)),
    ...section('To know:', found['to know'], short),
    [...(judged ? [coverage(examined, diagnosis.judgements, checks)] : []), ...notesOf(examined)].flatMap(
      (text) => wrap(text, width).map(colors.dim),
    ),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** Findings of one line stand together, longer ones apart. */
const blocksOf = (items: readonly string[][]): string[][] =>
  items.every((lines) => lines.length < 4) ? [items.flat()] : [...items];

function verdict({ isGrpo }: Examined, judged: boolean): string[] {
  if (!isGrpo || !judged) return [colors.yellow('Nothing here can be judged.')];
  return [colors.green('Nothing wrong was found by the checks that could be made.')];
}

/** A finding with all that is known of it. */
function whole(
  finding: Finding,
  signs: readonly Finding[],
  checks: readonly Check[],
  width: number,
): string[] {
  const check = checks.find(({ code }) => code === finding.code)!;
  const steps = stepsOf(finding);
  const rerun = rerunOf(check);
  const rows: [string, string][] = [
    ...(steps === undefined ? [] : [['steps', steps] as [string, string]]),
    ...finding.evidence.slice(0, 3).map((item): [string, string] => ['where', place(item)]),
    ...signs.map((sign): [string, string] => ['seen too', `${says(sign)} (${labelOf(sign)})`]),
    ['do', check.remedy],
    ...(check.settles ? [['to be sure', check.settles] as [string, string]] : []),
    ...(rerun === undefined ? [] : [['run again', rerun] as [string, string]]),
    ['check', `${check.code}, ${entryOf(check.code).name}: ${check.title}`],
    ['source', sourcesOf(check)],
    ...(check.proofs.length > 0 ? [] : [['unproved', UNPROVED] as [string, string]]),
  ];
  const [first = '', ...rest] = wrap(says(finding), width - MARGIN);
  return [
    `${LABELS[finding.severity]}  ${colors.bold(first)}`,
    ...rest.map((line) => ' '.repeat(MARGIN) + colors.bold(line)),
    ...twoColumns(named(rows), NAMES, width - MARGIN).map((line) => ' '.repeat(MARGIN) + line),
  ];
}

/** Rows of which those with one name after another name it once. */
const named = (rows: readonly (readonly [string, string])[]): [string, string][] =>
  rows.map(([name, text], i) => [name === rows[i - 1]?.[0] ? '' : name, text]);

/** A finding in a line or two. */
function brief(finding: Finding, width: number): string[] {
  const lines = wrap(`${says(finding)} (${labelOf(finding)})`, width - MARGIN);
  return lines.map((line, i) =>
    i === 0 ? `${LABELS[finding.severity]}  ${line}` : ' '.repeat(MARGIN) + line,
  );
}
