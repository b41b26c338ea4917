/** A diagnosis for a terminal: the cause first, what follows from it after it, and what could not be judged last. */
import pc from 'picocolors';
import type { Check } from '../../doctor/check.js';
import type { Diagnosis } from '../../doctor/examine.js';
import type { Finding } from '../../doctor/finding.js';
import type { Evidence } from '../../doctor/outcome.js';
import { sentenceOf, written } from '../../doctor/words/index.js';
import type { Broken } from '../../trace/readers/reading.js';
import { twoColumns, wrap } from '../text-layout.js';

/** What was examined, in words. */
export interface Examined {
  /** What it was recognised as. */
  kind: string;
  path: string;
  records: number;
  entries: number;
  notes: readonly string[];
  broken: Broken;
}

const WIDTH = 100;
const LEFT = 9;

const LABELS = { fail: pc.red('FAIL'), warn: pc.yellow('WARN'), inform: pc.cyan('note') };

/** The whole report, ending in a newline. */
export function terminalReport(examined: Examined, diagnosis: Diagnosis, checks: readonly Check[]): string {
  const { findings, judgements } = diagnosis;
  const cause = findings.find(({ severity }) => severity !== 'inform');
  const consequences = findings.filter(
    ({ inducedBy }) => inducedBy?.code === cause?.code && inducedBy !== undefined,
  );
  const others = findings.filter((finding) => finding !== cause && !consequences.includes(finding));
  const judged = judgements.filter(({ judged: count }) => count > 0).length;
  const blocks = [
    head(examined),
    [verdict(cause, examined, judged)],
    ...(cause ? [whole(cause, checks)] : []),
    ...(consequences.length > 0 ? [['What follows from it, or may:', ...consequences.flatMap(brief)]] : []),
    ...(others.length > 0
      ? [[cause ? 'Beside it:' : 'To know:', ...others.flatMap((finding) => whole(finding, checks))]]
      : []),
    foot(diagnosis, judged),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function head({ kind, path, records, entries, notes, broken }: Examined): string[] {
  const parts = [
    ...(records > 0 ? [`${records} step ${records === 1 ? 'record' : 'records'}`] : []),
    ...(entries > 0 ? [`${entries} log ${entries === 1 ? 'entry' : 'entries'}`] : []),
  ];
  const lines = [`${pc.bold(path)}: ${kind}${parts.length > 0 ? `, ${parts.join(', ')}` : ''}.`];
  lines.push(...notes.flatMap((note) => wrap(note, WIDTH)));
  if (broken.count > 0) {
    lines.push(`${broken.count} broken ${broken.count === 1 ? 'line was' : 'lines were'} left out:`);
    lines.push(...broken.first.map(({ file, line, reason }) => `  ${whereOf(file, line)}: ${reason}`));
  }
  return lines;
}

function verdict(cause: Finding | undefined, { records, entries }: Examined, judged: number): string {
  if (records + entries === 0 || judged === 0) return pc.yellow('Nothing here can be judged.');
  if (!cause) return pc.green(`Nothing wrong was found by ${judged} checks.`);
  return pc.bold(cause.severity === 'fail' ? 'This is wrong:' : 'This looks wrong:');
}

/** A finding with all that is known of it. */
function whole(finding: Finding, checks: readonly Check[]): string[] {
  const check = checks.find(({ code }) => code === finding.code)!;
  const rows: [string, string][] = [];
  if (finding.steps.length > 0) rows.push(['steps', stepsOf(finding)]);
  rows.push(...finding.evidence.slice(0, 3).map((item): [string, string] => ['where', place(item)]));
  rows.push(['do', check.remedy]);
  if (check.settles) rows.push(['to be sure', check.settles]);
  const { rerun, checkpointsVoid } = check.consequence;
  if (finding.severity !== 'inform' && rerun !== 'nothing') {
    rows.push(['run again', `${rerun}${checkpointsVoid ? '; the checkpoints are worth nothing' : ''}`]);
  }
  return [
    `  ${LABELS[finding.severity]}  ${pc.bold(finding.code)}  ${check.title}: it does not hold.`,
    ...wrap(sentenceOf(finding), WIDTH - LEFT).map((line) => `        ${line}`),
    ...twoColumns(rows, 12, WIDTH - 8).map((line) => pc.dim(`        ${line}`)),
  ];
}

/** A consequence in a line or two. */
function brief(finding: Finding): string[] {
  const sure = finding.inducedBy!.sure ? 'follows' : 'may follow';
  const [first, ...rest] = wrap(`${sentenceOf(finding)} (${sure})`, WIDTH - 24);
  return [
    `  ${LABELS[finding.severity]}  ${finding.code.padEnd(14)} ${first}`,
    ...rest.map((line) => `${' '.repeat(23)}${line}`),
  ];
}

function stepsOf({ steps, judged }: Finding): string {
  const shown = steps.slice(0, 8).join(', ');
  return `${shown}${steps.length > 8 ? ', …' : ''} (${steps.length} of ${judged} that could be judged)`;
}

/** A file, and its line where it has lines. */
export const whereOf = (file: string, line: number | undefined) =>
  line === undefined ? file : `${file}:${line}`;

/** Where evidence points, down to the token. */
export function place({ step, prompt, completion, token, text, values }: Evidence): string {
  const parts = [
    ...(step === undefined ? [] : [`step ${step}`]),
    ...(prompt === undefined ? [] : [`prompt ${prompt}`]),
    ...(completion === undefined ? [] : [`completion ${completion}`]),
    ...(token === undefined ? [] : [`token ${token}`]),
  ];
  const numbers = Object.entries(values ?? {}).map(([name, value]) => `${name} ${written(value)}`);
  const told = [
    ...(text === undefined ? [] : [JSON.stringify(text)]),
    ...(numbers.length > 0 ? [numbers.join(', ')] : []),
  ];
  return [parts.join(', '), told.join(' · ')].filter((part) => part !== '').join(': ');
}

function foot({ judgements }: Diagnosis, judged: number): string[] {
  const open = judgements.filter(({ verdict: v }) => v === 'not applicable');
  const missing = new Map<string, number>();
  for (const { missing: names } of open)
    for (const name of names) missing.set(name, (missing.get(name) ?? 0) + 1);
  const most = [...missing]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 6)
    .map(([name, count]) => `${name} (${count})`);
  const line = `${judged} checks were made, ${open.length} could not be: they are no passes.`;
  return wrap(most.length > 0 ? `${line} Missing most: ${most.join(', ')}.` : line, WIDTH).map((text) =>
    pc.dim(text),
  );
}
