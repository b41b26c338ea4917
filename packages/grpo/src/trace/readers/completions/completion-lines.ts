import { FormatError } from '../../../errors/format-error.js';
import { excerpt } from '../../../errors/printable.js';
import { isObject } from '../../../formats/json.js';
import type { StepRecord } from '../../record.js';
import { type Line, linesOf } from '../lines.js';
import { literal } from '../literal.js';
import type { Place } from '../place.js';
import { BrokenParts, type Reading } from '../reading.js';
import { type CompletedRow, promptKey, recordOf, type TableContext } from './completed.js';
import { completedRow, looksCompleted } from './completed-row.js';

/** A step that has more is read in parts; so is a file that tells no steps. */
const MOST_ROWS = 4096;

/** Whether the file begins with a row of a table of completions. */
export function isCompletionLines({ head }: Place): boolean {
  const text = head.trim();
  const [first] = text.split('\n', 1);
  return looksCompleted(first!, first!.length < text.length || text.endsWith('}'));
}

/**
 * Reads JSON Lines of completions with ids, masks, rewards or texts: each run of rows of one step is a record.
 *
 * @throws FormatError when the file has no row
 */
export function readCompletionLines({ path }: Place, files: readonly string[] = [path]): Reading {
  const broken = new BrokenParts();
  const context: TableContext = { producer: { name: 'completions' } };
  const [first] = stepsOf(files, new BrokenParts());
  if (!first) throw new FormatError(path, 'no row has a completion as text or as token ids');
  const notes = first.told
    ? []
    : ['The rows have no step number: the file is read in parts of whole groups.'];
  return {
    kind: 'completions, JSON Lines',
    files,
    records: completionRecords(files, context, broken),
    isGrpo: true,
    broken,
    notes,
  };
}

/**
 * The records of files of completions, one at a time.
 *
 * @param from - the byte to begin at, of one file
 */
export function completionRecords(
  files: readonly string[],
  context: TableContext,
  broken: BrokenParts,
  from = 0,
): Iterable<StepRecord> {
  let counts = true;
  return {
    *[Symbol.iterator]() {
      // What is broken is counted the first time only.
      const own = counts ? broken : new BrokenParts();
      counts = false;
      for (const { step, rows } of stepsOf(files, own, from)) yield recordOf(step, rows, context);
    },
  };
}

interface StepRows {
  step: number;
  rows: CompletedRow[];
  /** Whether the rows told the step. */
  told: boolean;
}

function* stepsOf(files: readonly string[], broken: BrokenParts, from = 0): Generator<StepRows> {
  let open: StepRows | undefined;
  for (const { file, line, text, cut } of linesOfAll(files, from)) {
    const row = cut ? undefined : literal(text.trim());
    const found = isObject(row) ? completedRow(row) : undefined;
    if (!found) {
      broken.add({ file, line, reason: `no completion: ${excerpt(text.trim())}` });
      continue;
    }
    const told = found.step !== undefined;
    const step = found.step ?? open?.step ?? 1;
    const full = open && open.rows.length >= MOST_ROWS && begins(open.rows.at(-1)!, found.completed);
    if (open && (step !== open.step || full)) {
      yield open;
      open = undefined;
    }
    // Without steps the parts are counted.
    open ??= { step: told ? step : step + Number(full ?? false), rows: [], told };
    open.rows.push(found.completed);
  }
  if (open) yield open;
}

function* linesOfAll(files: readonly string[], from: number): Generator<Line & { file: string }> {
  for (const file of files) for (const line of linesOf(file, from)) yield { ...line, file };
}

/** Whether another prompt's completions begin. */
const begins = (before: CompletedRow, now: CompletedRow) =>
  before.group !== now.group || (now.group === undefined && promptKey(before) !== promptKey(now));
