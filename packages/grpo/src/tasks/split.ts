/** Problems from files: those to train on and those held out. */
import { EmptyFile, FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { defaultEvalSize, holdOut, noneLeft, sharedWith } from './hold-out.js';

/** Where problems come from. */
export interface ProblemFiles {
  /** Path of the problems. */
  data: string;
  /** Path of the held-out problems; all of its rows are used, in order. */
  evalData?: string | undefined;
  /** Rows of `data` that are held out when there is no `evalData`; a fifth, and at most 200, when left out. */
  evalSize?: number | undefined;
}

/**
 * Reads both. Without `evalData`, `evalSize` items are held out: chosen at random, and the same ones in every run with
 * this file and size. No question that is held out is trained on.
 *
 * @param question - equal for two items that ask the same
 * @throws EmptyFile when nothing is left to train on; FormatError when both files ask the same
 */
export async function readSplit<Item>(
  { data, evalData, evalSize }: ProblemFiles,
  read: (path: string) => Promise<Item[]>,
  question: (item: Item) => string,
): Promise<{ train: Item[]; held: Item[] }> {
  const items = await read(data);
  if (evalData !== undefined) {
    const held = await read(evalData);
    requireDisjoint(data, items, evalData, held, question);
    return { train: items, held };
  }
  const size = evalSize ?? defaultEvalSize(items.length);
  const parts = holdOut(items, size, question);
  if (parts.train.length > 0) return parts;
  const fifth = Math.ceil(items.length / 5);
  const advice =
    fifth < Math.min(size, items.length) ? `task.evalSize=${fifth} holds out a fifth. Or give` : 'Give';
  throw new EmptyFile(data, noneLeft(items, size, question), {
    hint: `${advice} more rows, or a file of held-out rows in task.evalData.`,
  });
}

function requireDisjoint<Item>(
  path: string,
  train: readonly Item[],
  evalPath: string,
  held: readonly Item[],
  question: (item: Item) => string,
): void {
  const shared = sharedWith(held, train, question);
  if (shared.length === 0) return;
  const first = excerpt(question(shared[0]!));
  throw new FormatError(
    evalPath,
    `${shared.length} questions are also in ${path}, such as ${first}; remove them from one of the files, or the evaluation would contain training problems`,
  );
}
