/**
 * A report for a terminal, in one screen: the cause first, the course of the run, what follows from the cause, and what
 * could not be judged last. What has no room is counted; the page and the JSON have it.
 */
import { isGeometric } from '../../doctor/course/movements.js';
import { type CourseRow, rowText } from '../../doctor/course/rows.js';
import { entryOf } from '../../doctor/registry.js';
import { UNPROVED } from '../../view/report/examined.js';
import type { Report, ReportItem } from '../../view/report/report.js';
import { colors } from '../colors.js';
import { twoColumns, wrap } from '../text-layout.js';

const MARGIN = 6;
const NAMES = 12;
/** As many lines as one run has. */
const LINES = 25;
/** Rows of the course. */
const MOST_ROWS = 5;

/** Lines of the findings without room, where there is none for more. */
const MOST_OF_LEFT = 1;

const LABELS = {
  fail: colors.red(colors.bold('FAIL')),
  warn: colors.yellow(colors.bold('WARN')),
  inform: colors.cyan('note'),
};

/** The whole report in lines of at most `width` characters, ending in a newline. */
export function terminalReport(report: Report, width = 100): string {
  const { path, summary, cause, verdict, isSound, course, notes } = report;
  const head = wrap(`${path}: ${summary}.`, width);
  const lead = cause
    ? fullLines(cause, width)
    : wrap(verdict, width).map(isSound ? colors.green : colors.yellow);
  const [coverage, ...others] = notes.map((text) => wrap(text, width).map(colors.dim));
  const rest = blocks([head, lead, [''], coverage ?? []]).length;
  // Beside a finding what did not move is of no use.
  const isTold = !cause || course.some(({ movement }) => movement);
  const told = isTold ? courseLines(course, width, clamp(LINES - rest - 4, 1, MOST_ROWS)) : [];
  const fixed = blocks([head, lead, told, coverage ?? []]);
  const sections = sectionLines(report, width, Math.max(3, LINES - fixed.length - 1));
  const room = LINES - fixed.length - (sections.length > 0 ? sections.length + 1 : 0);
  // The first always has room: of step records it names the methods that a user replaced.
  const last = [...(coverage ?? []), ...fitting(others, Math.max(room, others[0]?.length ?? 0))];
  const between = cause ? [told, sections] : [sections, told];
  return `${blocks([head, lead, ...between, last]).join('\n')}\n`;
}

const clamp = (value: number, least: number, most: number) => Math.max(least, Math.min(most, value));

/** Blocks with an empty line between two. */
const blocks = (all: readonly (readonly string[])[]): string[] =>
  all.filter((lines) => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : ['', ...lines]));

/** The first blocks that have room. */
function fitting(all: readonly (readonly string[])[], room: number): string[] {
  let used = 0;
  return all.flatMap((lines) => {
    used += lines.length;
    return used <= room ? lines : [];
  });
}

/** What moved, each in a line, and in one paragraph what did not. */
function courseLines(rows: readonly CourseRow[], width: number, most: number): string[] {
  if (rows.length === 0) return [];
  const isTold = ({ quantity, movement, extreme, isConstant }: CourseRow) =>
    movement !== undefined || extreme !== undefined || isConstant || quantity === 'reward';
  const told = rows.filter(isTold).slice(0, most);
  const others = rows.filter((row) => !told.includes(row)).map(rowText);
  const texts = told.map(rowText);
  const widths = [0, 1].map((column) => Math.max(0, ...texts.map((text) => text[column]!.length)));
  const lines = texts.flatMap(([name, levels, when]) => {
    const line = `${name.padEnd(widths[0]!)}  ${levels.padEnd(widths[1]!)}  ${when}`.trimEnd();
    return line.length > width - MARGIN ? wrap(`${name} ${levels}, ${when}`, width - MARGIN) : [line];
  });
  const ratios = rows.filter(({ quantity }) => quantity !== undefined && isGeometric(quantity));
  const geometric = ratios.length === 0 ? '' : ` (geometric of ${ratios.map(({ name }) => name).join(', ')})`;
  const rest = most > 1 ? others.map(([name, levels]) => `${name} ${levels}`).join(', ') : '';
  return [
    ...wrap(
      rows.every(({ isShort }) => isShort)
        ? 'First entry → last:'
        : `First eighth of the run → last, as means${geometric}, with the step of the change and its distance from the noise:`,
      width,
    ),
    ...[...lines, ...(rest === '' ? [] : wrap(rest, width - MARGIN))].map(
      (line) => ' '.repeat(MARGIN) + line,
    ),
  ];
}

/**
 * The other findings, a line or two per finding: all independent faults, and as many consequences and notes as fit. The first
 * note says what to do where nothing leads and too little was judged.
 */
function sectionLines({ sections, cause, isSound }: Report, width: number, room: number): string[] {
  const lines: string[] = [];
  const left: ReportItem[] = [];
  for (const { title, findings, brief } of sections) {
    for (const [i, item] of findings.entries()) {
      const head = i === 0 ? [...(lines.length > 0 ? [''] : []), `${title}:`] : [];
      const more = [...head, ...briefLines(item, width)];
      if (i === 0 && !cause && !isSound)
        more.push(
          ...twoColumns([['do', item.check.remedy]], 4, width - MARGIN).map(
            (line) => ' '.repeat(MARGIN) + line,
          ),
        );
      // Independent faults are always printed, and a note where nothing else says anything. The end names the others.
      const isOnly = lines.length === 0 && !cause && !isSound;
      const isOwn = !brief || item.finding.severity === 'fail' || isOnly;
      if (isOwn || (left.length === 0 && lines.length + more.length < room)) lines.push(...more);
      else left.push(item);
    }
  }
  if (left.length === 0) return lines;
  const told = (names: readonly string[]) =>
    wrap(`${left.length} more (${names.join('; ')}): --json and --html have all.`, width);
  const named = told(left.map(({ label }) => label));
  const short = told(left.map(({ finding }) => finding.code));
  return [...lines, ...(named.length <= Math.max(MOST_OF_LEFT, room - lines.length) ? named : short)];
}

/** A finding with all that is known of it. */
function fullLines({ finding, check, says, signs, ...rest }: ReportItem, width: number): string[] {
  const rows: [string, string][] = [
    ...(rest.steps === undefined ? [] : [['steps', rest.steps] as [string, string]]),
    ...rest.places
      .slice(0, check.scope === 'step' ? 3 : signs.length > 0 ? 0 : 1)
      .map((place): [string, string] => ['where', place]),
    ...signs.slice(0, 1).map((sign): [string, string] => ['seen too', `${sign.says} (${sign.label})`]),
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
