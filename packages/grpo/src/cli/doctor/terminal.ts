/** A report for a terminal: the cause first, what follows from it after it, and what could not be judged last. */
import { entryOf } from '../../doctor/registry.js';
import { colors } from '../colors.js';
import { twoColumns, wrap } from '../text-layout.js';
import { UNPROVED } from './examined.js';
import type { Report, ReportItem, Section } from './report.js';

const MARGIN = 6;
const NAMES = 12;

const LABELS = {
  fail: colors.red(colors.bold('FAIL')),
  warn: colors.yellow(colors.bold('WARN')),
  inform: colors.cyan('note'),
};

/** The whole report in lines of at most `width` characters, ending in a newline. */
export function terminalReport(report: Report, width = 100): string {
  const { path, summary, cause, verdict, judged, notes } = report;
  const lead = cause ? fullLines(cause, width) : [judged ? colors.green(verdict) : colors.yellow(verdict)];
  const sections = report.sections.flatMap((section) => blocksOf(section, width));
  const blocks = [
    wrap(`${path}: ${summary}.`, width),
    lead,
    ...sections,
    notes.flatMap((text) => wrap(text, width).map(colors.dim)),
  ];
  return `${blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

/** The blocks of a section. Findings of one line stand together, longer ones apart. */
function blocksOf({ title, findings, brief }: Section, width: number): string[][] {
  const items = findings.map((item) => (brief ? briefLines : fullLines)(item, width));
  return [[`${title}:`], ...(items.every((lines) => lines.length < 4) ? [items.flat()] : items)];
}

/** A finding with all that is known of it. */
function fullLines({ finding, check, says, signs, ...rest }: ReportItem, width: number): string[] {
  const rows: [string, string][] = [
    ...(rest.steps === undefined ? [] : [['steps', rest.steps] as [string, string]]),
    ...rest.places.slice(0, 3).map((place): [string, string] => ['where', place]),
    ...signs.map((sign): [string, string] => ['seen too', `${sign.says} (${sign.label})`]),
    ['do', check.remedy],
    ...(check.settles ? [['to be sure', check.settles] as [string, string]] : []),
    ...(rest.rerun === undefined ? [] : [['run again', rest.rerun] as [string, string]]),
    ['check', `${check.code}, ${entryOf(check.code).name}: ${check.title}`],
    ['source', rest.sources],
    ...(check.proofs.length > 0 ? [] : [['unproved', UNPROVED] as [string, string]]),
  ];
  const [first = '', ...others] = wrap(says, width - MARGIN);
  return [
    `${LABELS[finding.severity]}  ${colors.bold(first)}`,
    ...others.map((line) => ' '.repeat(MARGIN) + colors.bold(line)),
    ...twoColumns(named(rows), NAMES, width - MARGIN).map((line) => ' '.repeat(MARGIN) + line),
  ];
}

/** Rows of which those with one name after another name it once. */
const named = (rows: readonly (readonly [string, string])[]): [string, string][] =>
  rows.map(([name, text], i) => [name === rows[i - 1]?.[0] ? '' : name, text]);

/** A finding in a line or two. */
function briefLines({ finding, says, label }: ReportItem, width: number): string[] {
  const lines = wrap(`${says} (${label})`, width - MARGIN);
  return lines.map((line, i) =>
    i === 0 ? `${LABELS[finding.severity]}  ${line}` : ' '.repeat(MARGIN) + line,
  );
}
