import { UsageError } from '../../config/index.js';
import { examine } from '../../doctor/examine.js';
import { registry } from '../../doctor/registry.js';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import type { MetricSeries, StepRecord } from '../../trace/index.js';
import { isEvaluation, readRun } from '../../trace/readers/index.js';
import { type CommandArguments, EXIT } from '../command.js';
import { readable } from '../readable.js';
import { pageWidth } from '../text-layout.js';
import { jsonReport } from './data.js';
import type { ExaminedReading } from './examined.js';
import { explanation, faultFor } from './explanation.js';
import { htmlReport } from './page.js';
import { reportOf } from './report.js';
import { terminalReport } from './terminal.js';

/**
 * `grpo doctor`: reads what a run left and names what is wrong with it, or explains a fault. Exit code 0 without findings, 1 with some, 2
 * when nothing could be read or judged.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  if (flags.selftest) {
    if (operands.length > 0) throw new UsageError('--selftest makes its own runs: it takes no path');
    // The only part that trains: reading a run needs no tensor engine.
    const { runSelftest } = await import('./selftest.js');
    return runSelftest(flags.json === true);
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
  const reading = await readable(() => readRun(path));
  const { records = [], series, declared, isGrpo } = reading;
  const counter = { records: 0 };
  // The checks of GRPO do not hold for other training.
  const material = isGrpo
    ? { records: counted(records, counter), ...(series && { series }), ...(declared && { declared }) }
    : {};
  const diagnosis = examine(material, registry);
  const examined: ExaminedReading = {
    path,
    kind: reading.kind,
    files: reading.files,
    records: counter.records,
    entries: entriesOf(series?.entries),
    broken: reading.broken,
    notes: reading.notes,
    isGrpo,
  };
  const report = reportOf(examined, diagnosis, registry);
  process.stdout.write(flags.json ? jsonReport(examined, diagnosis) : terminalReport(report, pageWidth()));
  if (flags.html !== undefined) {
    writeFileAtomic(flags.html as string, htmlReport(report, diagnosis.judgements, registry, series));
    process.stderr.write(`Page: ${String(flags.html)}\n`);
  }
  if (diagnosis.judgements.every(({ judged }) => judged === 0)) return EXIT.usage;
  return diagnosis.findings.some(({ severity }) => severity !== 'inform') ? EXIT.error : 0;
}

/** An evaluation alone, such as that before training, is no entry of a log that has others. */
function entriesOf(entries: MetricSeries['entries'] = []): number {
  return entries.filter(({ values }) => !isEvaluation(values)).length || entries.length;
}

function* counted(records: Iterable<StepRecord>, counter: { records: number }): Generator<StepRecord> {
  for (const record of records) {
    counter.records++;
    yield record;
  }
}
