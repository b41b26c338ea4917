// What `grpo doctor` says of a folder of real runs, beside what a reader of their numbers says (diagnoses.mjs).
//   node bench/runs.mjs FOLDER [A|B] [FILTER]
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { terminalReport } from '../packages/grpo/dist/cli/doctor/terminal.js';
import { examine } from '../packages/grpo/dist/doctor/examine.js';
import { registry, sentenceOf } from '../packages/grpo/dist/doctor/registry.js';
import { verdictOf } from '../packages/grpo/dist/doctor/verdict.js';
import { UserError } from '../packages/grpo/dist/errors/user-error.js';
import { readRun } from '../packages/grpo/dist/trace/readers/index.js';
import { reportOf } from '../packages/grpo/dist/view/report/report.js';
import { diagnoses } from './diagnoses.mjs';

const [folder, half, filter = ''] = process.argv.slice(2);

/** A folder whose only content is one file or one folder stands for it. */
function place(path) {
  const names = statSync(path).isDirectory() ? readdirSync(path) : [];
  return names.length === 1 ? place(join(path, names[0])) : path;
}

/** What the doctor says of each run at a path; where nothing can be read, why. */
async function examined(path) {
  try {
    const reading = await readRun(path);
    const parts = reading.runs ?? [{ read: () => reading }];
    return { runs: await Promise.all(parts.map(async ({ read }) => diagnosed(path, await read()))) };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { runs: [], why: error.message };
  }
}

function diagnosed(path, reading) {
  const { records, series, declared, isGrpo, kind, files, broken, notes } = reading;
  const diagnosis = examine(isGrpo ? { records, series, declared } : {}, registry);
  const entries = series?.entries.length ?? 0;
  const about = { path, kind, files, records: diagnosis.records, entries, broken, notes, isGrpo };
  const text = terminalReport(reportOf(about, diagnosis, registry)).trimEnd();
  const findings = diagnosis.findings.map((finding) => ({ ...finding, says: sentenceOf(finding) }));
  return { isGrpo, entries, text, findings, outcome: verdictOf(diagnosis) };
}

/** How one run answers what is expected of it. */
function stateOf(entry, { isGrpo, entries, findings, outcome }) {
  if (entry.outcome === 'not GRPO') return isGrpo ? 'misread' : 'well';
  if (entry.outcome === 'not a log') return 'misread';
  if (!entries) return 'unread';
  if (!entry.sick) {
    if (findings.some(({ severity }) => severity !== 'inform')) return 'false alarm';
    return entry.outcome && outcome !== entry.outcome ? 'passed' : 'well';
  }
  if (outcome === 'too little to judge' && entry.first.test(outcome)) return 'first';
  const index = findings.findIndex(({ says }) => entry.first.test(says));
  if (index === 0) return findings[0].severity === 'inform' ? 'only a note' : 'first';
  return index > 0 ? 'not first' : 'missed';
}

/** Of several runs the worst counts. */
const WORST = [
  'unread',
  'misread',
  'false alarm',
  'missed',
  'passed',
  'only a note',
  'not first',
  'first',
  'well',
];

if (!folder || !existsSync(folder)) {
  console.error('usage: node bench/runs.mjs FOLDER [A|B] [FILTER]');
  process.exit(2);
}
const counts = new Map();
for (const entry of diagnoses) {
  if ((half && half !== '-' && entry.half !== half) || !entry.path.includes(filter)) continue;
  const { runs, why } = await examined(place(join(folder, entry.path)));
  const states = runs.map((run) => stateOf(entry, run));
  const unread = entry.outcome === 'not a log' ? 'well' : 'unread';
  const state = WORST.find((one) => states.includes(one)) ?? unread;
  const findings = runs.flatMap((run) => run.findings);
  const said = runs.flatMap(({ text, findings: own }) => [text, ...own.map(({ says }) => says)]);
  const all = said.join('\n').replace(/\s+/g, ' ');
  const forbidden = entry.never.filter((pattern) => pattern.test(all)).map(String);
  const key = `${entry.half} ${entry.sick ? 'sick' : 'healthy'}`;
  const row = counts.get(key) ?? {};
  row[state] = (row[state] ?? 0) + 1;
  if (forbidden.length > 0) row['said what it must not'] = (row['said what it must not'] ?? 0) + 1;
  counts.set(key, row);
  const lines = Math.max(0, ...runs.map(({ text }) => text.split('\n').length));
  const many = runs.length > 1 ? `, ${runs.length} runs` : '';
  console.log(`${entry.half} ${state.toUpperCase().padEnd(11)} ${lines} lines${many}  ${entry.path}`);
  const codes = findings.map(
    ({ code, severity }) => `${code}${{ fail: '!', warn: '~', inform: '' }[severity]}`,
  );
  console.log(`    ${codes.join(' ') || why?.slice(0, 120) || runs[0].outcome}`);
  if (findings[0]) console.log(`    ${findings[0].says}`);
  for (const pattern of forbidden) console.log(`    must not say ${pattern}`);
}
console.log();
for (const [key, row] of [...counts].sort())
  console.log(
    key.padEnd(10),
    Object.entries(row)
      .map(([name, n]) => `${name} ${n}`)
      .join(', '),
  );
