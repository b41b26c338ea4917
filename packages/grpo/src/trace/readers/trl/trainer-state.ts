import { FormatError } from '../../../errors/format-error.js';
import { isObject } from '../../../formats/json.js';
import { membersOf } from '../json-document.js';
import type { Place } from '../place.js';
import { BrokenParts, type Reading } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { metricRow, numberOf } from '../rows/metric-row.js';
import type { Hints } from '../series/hints.js';
import { readingOf } from '../series/log-reading.js';

/** Whether a file is what transformers' Trainer saves of its progress. */
export const isTrainerState = ({ name, head }: Pick<Place, 'name' | 'head'>): boolean =>
  /^\s*\{/.test(head) && (name === 'trainer_state.json' || /"log_history"\s*:/.test(head));

/**
 * Reads `trainer_state.json`.
 *
 * @throws FormatError when it has no entry
 */
export function readTrainerState(path: string, hints: Hints = {}): Reading {
  const broken = new BrokenParts();
  const collector = new Collector();
  let loggingSteps: number | undefined;
  let lastStep: number | undefined;
  for (const member of membersOf(path, 'log_history')) {
    if ('problem' in member) {
      broken.add({ file: path, line: member.line, reason: member.problem });
    } else if (member.key === 'logging_steps') loggingSteps = numberOf(member.value);
    else if (member.key === 'max_steps') lastStep = numberOf(member.value);
    else if (member.key === 'log_history') {
      const row = isObject(member.value) ? metricRow(member.value) : undefined;
      if (row) collector.add(row, member.line);
    }
  }
  if (collector.rows === 0) throw noEntries(path, broken);
  // A fraction is a share of the run, which only its length would tell.
  const stepsPerEntry =
    loggingSteps !== undefined && loggingSteps >= 1 ? { stepsPerEntry: loggingSteps } : {};
  const end = lastStep === undefined ? {} : { lastStep };
  const meaning = { ...stepsPerEntry, ...end, ...hints.meaning };
  const runs = collector.finish();
  // A phase of a curriculum may begin its steps anew.
  const read = readingOf({
    files: [path],
    runs,
    kind: () => 'trainer_state.json',
    hints: { ...hints, meaning },
    broken,
  });
  return { ...read, kind: `${read.isGrpo ? 'TRL' : 'transformers'} ${read.kind}` };
}

function noEntries(path: string, broken: BrokenParts): FormatError {
  const [first] = broken.first;
  const why = first ? `; line ${first.line}: ${first.reason}` : '';
  return new FormatError(path, `log_history has no entry with metrics of training${why}`, {
    hint: 'The run was saved before its first log: set logging_steps=1, or give a later checkpoint.',
  });
}
