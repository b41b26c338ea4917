import { UsageError, UserError } from '../../config/index.js';
import { examine } from '../../doctor/examine.js';
import { registry } from '../../doctor/registry.js';
import { sentenceOf } from '../../doctor/words/index.js';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import type { StepRecord } from '../../trace/index.js';
import { readRun } from '../../trace/readers/index.js';
import { type CommandArguments, EXIT } from '../command.js';
import { htmlReport } from '../doctor/page.js';
import { type Examined, terminalReport } from '../doctor/report.js';

/**
 * `grpo doctor`: reads what a run left and names what is wrong with it. Exit code 0 without findings, 1 with some, 2
 * when nothing could be read or judged.
 */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [path, ...more] = operands;
  if (path === undefined || more.length > 0) {
    throw new UsageError('the doctor needs one path', {
      hint: 'A run folder, a step record, an output folder of TRL, trainer_state.json, or a log: grpo doctor PATH',
    });
  }
  const reading = await readable(path);
  const counter = { records: 0 };
  const diagnosis = examine(
    {
      records: counted(reading.records ?? [], counter),
      ...(reading.series && { series: reading.series }),
      ...(reading.declared && { declared: reading.declared }),
    },
    registry,
  );
  const examined: Examined = {
    kind: reading.kind,
    path,
    records: counter.records,
    entries: reading.series?.entries.length ?? 0,
    notes: reading.notes,
    broken: reading.broken,
  };
  const judged = diagnosis.judgements.some((judgement) => judgement.judged > 0);
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ ...examined, ...diagnosis, findings: diagnosis.findings.map((finding) => ({ ...finding, says: sentenceOf(finding) })) })}\n`
      : terminalReport(examined, diagnosis, registry),
  );
  if (flags.html !== undefined) {
    writeFileAtomic(flags.html as string, htmlReport(examined, diagnosis, registry, reading.series));
    process.stderr.write(`Page: ${String(flags.html)}\n`);
  }
  if (!judged) return EXIT.usage;
  return diagnosis.findings.some(({ severity }) => severity !== 'inform') ? EXIT.error : 0;
}

/** What cannot be read is exit code 2, so that 1 always means findings. */
async function readable(path: string) {
  try {
    return await readRun(path);
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    throw new UsageError(cause.message, { cause, ...(cause.hint !== undefined && { hint: cause.hint }) });
  }
}

function* counted(records: Iterable<StepRecord>, counter: { records: number }): Generator<StepRecord> {
  for (const record of records) {
    counter.records++;
    yield record;
  }
}
