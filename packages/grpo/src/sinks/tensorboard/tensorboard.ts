/** Event files for TensorBoard: scalars, histograms of each step's completions, and the text of some of them. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../formats/make-folder.js';
import type { CompletionRow, Item, Numbers, Sink } from '../sink.js';
import type { SinkContext } from '../sink-context.js';
import { cutEvents, EventFile } from './event-file.js';
import { completionText, findingsText } from './markdown.js';
import { histogram, scalar, text } from './summary.js';

/**
 * A start makes a file of its own: a TensorBoard that is open would lose its place in one that is cut back and grows
 * again. Earlier files are cut back all the same: readers forget void scalars and histograms, and keep void texts.
 */
export function openTensorBoard({ folder, cursor, done }: SinkContext): Sink {
  const place = join(folder, 'tensorboard');
  makeFolder(place);
  const last = cursor.cutBack(done);
  const earlier = readdirSync(place).filter((name) => name.includes('.tfevents.'));
  for (const name of earlier) cutEvents(join(place, name), last);
  const now = Date.now() / 1000;
  const file = new EventFile(join(place, nameOf(earlier.length, now)), last + 1, now);
  return {
    place,
    usesCompletions: true,
    async send(items) {
      file.append(items.map((item) => ({ ...item, values: valuesOf(item) })));
    },
    async close() {
      file.close();
    },
  };
}

/** TensorBoard reads the files of a folder in the order of their names. */
const nameOf = (number: number, now: number) =>
  `events.out.tfevents.${Math.floor(now)}.grpo.${String(number).padStart(4, '0')}`;

function valuesOf(item: Item): Uint8Array[] {
  switch (item.kind) {
    case 'step':
      return [...scalars('', item.values), ...completionValues(item.completions)];
    case 'evaluation':
      return scalars('eval/', item.values);
    case 'findings':
      return [text('findings', findingsText(item.findings))];
    case 'end':
      return [];
  }
}

const scalars = (prefix: string, values: Numbers) =>
  Object.entries(values).map(([name, value]) => scalar(prefix + name, value));

function completionValues(rows: readonly CompletionRow[]): Uint8Array[] {
  if (rows.length === 0) return [];
  const names = Object.keys(rows[0]!.rewards);
  const columns: [tag: string, values: (number | undefined)[]][] = [
    ['completions/reward', rows.map(({ reward }) => reward)],
    ['completions/length', rows.map(({ length }) => length)],
    ['completions/advantage', rows.map(({ advantage }) => advantage)],
    // With a single reward it is the total.
    ...(names.length < 2 ? [] : names).map((name): [string, number[]] => [
      `completions/rewards/${name}`,
      rows.map(({ rewards }) => rewards[name]!),
    ]),
  ];
  const histograms = columns.flatMap(([tag, values]) => {
    const finite = values.filter((value) => Number.isFinite(value)) as number[];
    return finite.length === 0 ? [] : [histogram(tag, finite)];
  });
  return [
    ...histograms,
    ...shownOf(rows).map(([tag, row]) => text(`completions/${tag}`, completionText(row))),
  ];
}

/** The completions with the highest and the lowest reward. */
function shownOf(rows: readonly CompletionRow[]): [tag: string, row: CompletionRow][] {
  const scored = rows.filter(({ reward }) => Number.isFinite(reward)).sort((a, b) => b.reward - a.reward);
  if (scored.length === 0) return [];
  return [
    ['best', scored[0]!],
    ['worst', scored.at(-1)!],
  ];
}
