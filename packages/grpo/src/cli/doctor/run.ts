import { UsageError } from '../../config/index.js';
import type { Severity } from '../../doctor/finding.js';
import { registry } from '../../doctor/registry.js';
import { verdictOf } from '../../doctor/verdict.js';
import { Watch } from '../../progress/watch.js';
import { missingColumns, nameMetrics, readRun } from '../../trace/readers/index.js';
import { examineReading } from '../../view/report/examine-reading.js';
import { reportOf } from '../../view/report/report.js';
import { type CommandArguments, EXIT } from '../command.js';
import { createReporter } from '../live.js';
import { readable } from '../readable.js';
import { writeOnePage } from '../studio/bundle/write-one-page.js';
import { pageWidth } from '../text-layout.js';
import { jsonReport } from './data.js';
import { explanation, faultFor } from './explanation.js';
import { terminalReport } from './terminal.js';

/**
 * `grpo doctor`: reads what a run left and names what is wrong with it, or explains a fault. Exit code 0 without findings,
 * 1 with some (`--fail-on`), 2 when nothing could be read or judged, 4 when there is too little to judge.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  if (flags.metric !== undefined && operands.length === 0)
    throw new UsageError('--metric names a column of a log: give the path of the log, too');
  if (flags.selftest) {
    if (operands.length > 0) throw new UsageError('--selftest makes its own runs: it takes no path');
    // Only this and --before train: reading a run needs no tensor engine.
    const { runSelftest } = await import('./selftest.js');
    return runSelftest(flags.json === true);
  }
  if (flags.before !== undefined) {
    if (operands.length > 0 || flags.html !== undefined)
      throw new UsageError('--before takes a configuration: no path and no --html');
    const { runBefore } = await import('./before.js');
    return runBefore(flags.before as string, flags.json === true);
  }
  if (flags.explain !== undefined) {
    if (operands.length > 0 || flags.html !== undefined)
      throw new UsageError('--explain prints a page of the catalogue: it takes no path and no --html');
    const fault = faultFor(flags.explain as string);
    process.stdout.write(flags.json ? `${JSON.stringify(fault)}\n` : explanation(fault, pageWidth()));
    return 0;
  }
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError('the doctor needs one path', {
      hint: 'A run folder, a step record, an output folder of TRL, trainer_state.json, or a log: grpo doctor PATH',
    });
  }
  const failOn = flags['fail-on'] ?? 'warn';
  if (failOn !== 'warn' && failOn !== 'fail')
    throw new UsageError(`--fail-on takes warn or fail, not ${String(failOn)}`);
  nameMetrics(columnsOf((flags.metric ?? []) as readonly string[]));
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  const reading = await readable(() => readRun(path, watch));
  const missing = missingColumns();
  if (missing.length > 0)
    throw new UsageError(`--metric names ${missing.join(', ')}, which ${path} does not have`);
  const parts = reading.runs ?? [{ name: path, read: () => Promise.resolve(reading) }];
  const codes: number[] = [];
  for (const { name, read } of parts) {
    if (codes.length > 0 && !flags.json) process.stdout.write('\n');
    const place = parts.length > 1 ? `${path}, ${name}` : path;
    const examination = examineReading(place, await readable(read), watch);
    reporter.close();
    codes.push(judge(examination, flags, failOn));
  }
  if (flags.html !== undefined) {
    const place = parts.length > 1 ? undefined : 'findings';
    await readable(async () => writeOnePage(flags.html as string, { path, ...(place && { place }) }));
  }
  return worst(codes);
}

/** Columns by metric, out of `--metric reward=score`. */
function columnsOf(flags: readonly string[]): ReadonlyMap<string, string> {
  const columns = new Map<string, string>();
  for (const text of flags) {
    const [, metric = '', column = ''] = /^([^=]*)=(.*)$/.exec(text) ?? [];
    if (metric === '' || column === '')
      throw new UsageError(`--metric takes NAME=COLUMN, such as reward=score, not ${text}`);
    if (columns.has(metric)) throw new UsageError(`--metric gives ${metric} two columns`);
    columns.set(metric, column);
  }
  return columns;
}

/** Prints what the doctor makes of one run; returns the exit code. */
function judge(
  { examined, diagnosis }: ReturnType<typeof examineReading>,
  flags: CommandArguments['flags'],
  failOn: Severity,
): number {
  const report = reportOf(examined, diagnosis, registry);
  process.stdout.write(flags.json ? jsonReport(examined, diagnosis) : terminalReport(report, pageWidth()));
  const isFailed = diagnosis.findings.some(
    ({ severity }) => severity === 'fail' || (severity === 'warn' && failOn === 'warn'),
  );
  if (isFailed || examined.crash !== undefined) return EXIT.error;
  const verdict = verdictOf(diagnosis);
  return verdict === 'not judged' ? EXIT.usage : verdict === 'too little to judge' ? EXIT.tooLittle : 0;
}

/** The exit code of several runs: findings before what could not be judged. */
const worst = (codes: readonly number[]): number =>
  [EXIT.error, EXIT.usage, EXIT.tooLittle].find((code) => codes.includes(code)) ?? 0;
