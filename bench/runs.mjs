// What `grpo doctor` says of a folder of real runs, beside what a reader of their numbers says (diagnoses.mjs).
//   node bench/runs.mjs FOLDER [A|B] [FILTER]
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { diagnoses } from './diagnoses.mjs';

const [folder, half, filter = ''] = process.argv.slice(2);
const main = new URL('../packages/grpo/dist/cli/main.js', import.meta.url).pathname;

/** A folder whose only content is one file or one folder stands for it. */
function place(path) {
  const names = statSync(path).isDirectory() ? readdirSync(path) : [];
  return names.length === 1 ? place(join(path, names[0])) : path;
}

function judge(entry) {
  const path = place(join(folder, entry.path));
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, 'doctor', path, '--json'], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  const told = stdout.startsWith('{')
    ? JSON.parse(stdout.slice(0, stdout.indexOf('\n')))
    : { findings: [], broken: {}, kind: stderr.trim() };
  const findings = told.findings ?? [];
  const sentences = findings.filter(({ severity }) => severity !== 'inform');
  const plain =
    status === 0 || status === 1
      ? spawnSync(process.execPath, [main, 'doctor', path], { encoding: 'utf8' }).stdout
      : '';
  const all = `${plain.replace(/\s+/g, ' ')}\n${findings.map(({ says }) => says).join('\n')}`;
  const named = (pattern) => {
    if (told.outcome === 'too little to judge' && pattern.test('too little to judge')) return 'first';
    const index = findings.findIndex(({ says }) => pattern.test(says));
    if (index === 0) return findings[0].severity === 'inform' ? 'only a note' : 'first';
    return index > 0 ? 'not first' : 'missed';
  };
  const forbidden = entry.never.filter((pattern) => pattern.test(all)).map(String);
  const state = entry.sick
    ? told.entries
      ? named(entry.first)
      : 'unread'
    : entry.outcome === 'not a log' || entry.outcome === 'not GRPO'
      ? told.isGrpo
        ? 'misread'
        : 'well'
      : !told.entries
        ? 'unread'
        : sentences.length > 0
          ? 'false alarm'
          : entry.outcome && told.outcome !== entry.outcome
            ? 'passed'
            : 'well';
  return { entry, state, status, told, findings, forbidden, lines: plain.trimEnd().split('\n').length };
}

if (!folder || !existsSync(folder)) {
  console.error('usage: node bench/runs.mjs FOLDER [A|B] [FILTER]');
  process.exit(2);
}
const counts = new Map();
for (const entry of diagnoses) {
  if ((half && half !== '-' && entry.half !== half) || !entry.path.includes(filter)) continue;
  const { state, status, told, findings, forbidden, lines } = judge(entry);
  const key = `${entry.half} ${entry.sick ? 'sick' : 'healthy'}`;
  const row = counts.get(key) ?? {};
  row[state] = (row[state] ?? 0) + 1;
  if (forbidden.length > 0) row['said what it must not'] = (row['said what it must not'] ?? 0) + 1;
  counts.set(key, row);
  const codes = findings.map(
    ({ code, severity }) => `${code}${{ fail: '!', warn: '~', inform: '' }[severity]}`,
  );
  console.log(
    `${entry.half} ${state.toUpperCase().padEnd(11)} exit ${status} ${String(lines).padStart(3)} lines  ${entry.path}`,
  );
  console.log(`    ${codes.join(' ') || told.outcome || String(told.kind).slice(0, 120)}`);
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
