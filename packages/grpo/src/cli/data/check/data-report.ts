import { counted } from '../../../errors/counted.js';
import { alignColumns, wrap } from '../../text-layout.js';
import type { FileReport } from './check-file.js';
import type { FindingKind } from './finding.js';
import type { Ruler } from './lengths.js';
import { RUN } from './overlap.js';

/** Everything that was found. */
export interface DataReport {
  files: FileReport[];
  unit: Ruler['unit'];
  window: Ruler['window'] | null;
  /** Notes that concern every row, such as marks in the prompt file. */
  notes: string[];
}

/** Each kind as the table and as the list of rows name it. */
const WORDS: Readonly<Record<FindingKind, string>> = {
  'no question': 'without a question',
  'no answer': 'without an answer',
  'not text': 'neither text nor a number',
  'cannot be graded': 'answer cannot be graded',
  'no tokens': 'cannot be tokenised',
  duplicate: 'asked before in the file',
  leaked: 'also in the training file',
  overlap: `${RUN} words of it in the training file`,
  'too long': 'too long for the model',
};

export const isClean = ({ files, notes }: DataReport): boolean =>
  notes.length === 0 && files.every(({ findings }) => findings.length === 0);

/** A table of counts, then the first rows of each finding. */
export function dataReport(report: DataReport, width: number): string {
  const { files, unit, window, notes } = report;
  const row = (name: string, of: (file: FileReport, index: number) => unknown) => [
    name,
    ...files.map((file, i) => String(of(file, i))),
  ];
  const counts = Object.entries(WORDS)
    .filter(([kind]) => kind !== 'no tokens' || unit === 'tokens')
    .filter(([kind]) => kind !== 'too long' || window !== null)
    .filter(([kind]) => !/^(leaked|overlap)$/.test(kind) || files.length > 1)
    .map(([kind, words]) =>
      row(`  ${words}`, ({ findings }, i) =>
        /^(leaked|overlap)$/.test(kind) && i === 0
          ? ''
          : (findings.find((finding) => finding.kind === kind)?.rows ?? 0),
      ),
    );
  const table = alignColumns([
    row('', (_, i) => (i === 0 ? 'train' : 'eval')),
    row('rows', ({ rows }) => rows),
    ...counts,
    row(`prompt, median ${unit}`, ({ lengths }) => lengths?.median ?? 'none'),
    row(`prompt, most ${unit}`, ({ lengths }) => lengths?.longest ?? 'none'),
    ...(window ? [row('  and a completion, of', ({ lengths }) => fits(lengths?.longest, window))] : []),
  ]);
  const found = files.flatMap(({ path, findings }) =>
    findings.flatMap(({ kind, rows, first }) => [
      '',
      `${path}: ${counted(rows, 'row')} ${WORDS[kind]}`,
      ...first.flatMap(({ line, text }) => indented(`${line}: ${text}`, width)),
      ...(rows > first.length ? [`  and ${rows - first.length} more`] : []),
    ]),
  );
  const said = notes.flatMap((note) => ['', ...wrap(note, width)]);
  const end = isClean(report) ? ['', 'Nothing found.'] : [];
  return `${[...files.map(({ path }, i) => `${i === 0 ? 'train' : 'eval '}  ${path}`), '', ...table, ...found, ...said, ...end].join('\n')}\n`;
}

const fits = (
  longest: number | undefined,
  { positions, completion }: { positions: number; completion: number },
) => (longest === undefined ? 'none' : `${longest + completion}/${positions}`);

const indented = (text: string, width: number) =>
  wrap(text, width - 4).map((line, i) => `${i === 0 ? '  ' : '    '}${line}`);
