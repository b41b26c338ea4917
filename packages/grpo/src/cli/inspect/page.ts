/** A model's inspection as a page of text: tokens, the table of prompts, findings, decoding. */

import { formatValue } from '../../doctor/sentence.js';
import type { InspectionCheck } from '../../inspection/check.js';
import type { Generation } from '../../inspection/generations.js';
import type { Inspection } from '../../inspection/inspect-model.js';
import type { Apart, PaddingMeasured } from '../../inspection/padding-lab.js';
import type { RefusedRow, TemplateRow } from '../../inspection/template-rows.js';
import { isSame } from '../../maths/lists.js';
import { colors } from '../colors.js';
import { alignColumns, shortened, wrap } from '../text-layout.js';

/** An inspection with what only the engine tells, where it was asked. */
export interface ShownInspection extends Inspection {
  /** What a run takes, in a line. */
  memory?: string;
  measured?: PaddingMeasured;
  generations?: readonly Generation[];
}

export interface PageOptions {
  width: number;
  /** Folder that the logs are in. */
  save: string | undefined;
}

export function inspectionPage(inspection: ShownInspection, { width, save }: PageOptions): string {
  const lines = [
    ...block('Tokens', tokenLines(inspection), width),
    '',
    ...templateTable(inspection, width),
    '',
    ...inspection.checks.flatMap((check) => findingLines(check, width)),
    ...decodingTable(inspection),
    '',
    ...block('Padding', paddingLines(inspection), width),
    ...generationTable(inspection, width),
    ...(inspection.memory === undefined
      ? []
      : ['', ...block('Memory', [inspection.memory.replace(/^Memory: /, '')], width)]),
    '',
    ...wrap(`${countLine(inspection.checks)}${save === undefined ? '' : ` One log each in ${save}.`}`, width),
  ];
  return `${lines.join('\n')}\n`;
}

const NAME = 11;

const block = (name: string, texts: readonly string[], width: number) =>
  texts
    .flatMap((text) => wrap(text, width - NAME))
    .map((line, i) => (i === 0 ? name : '').padEnd(NAME) + line);

function tokenLines({ tokens: { bos, pad, ends }, hasTemplate }: Inspection): string[] {
  const by = {
    tokenizer: 'added by the tokenizer',
    template: 'written by the template',
    both: 'written by the template, and once more by encoding with special tokens',
    nobody: 'added by nobody',
  };
  const isEnd = ends.some(({ id }) => id === pad?.id);
  return [
    bos ? `BOS ${bos.id} ${bos.text}, ${by[bos.addedBy]}` : 'no BOS',
    pad ? `pad ${pad.id} ${pad.text}${isEnd ? ', which is an end, too' : ''}` : 'no pad token',
    ...ends.map(
      ({ id, text, sources, stops }) =>
        `end ${id} ${text} (${sources.join(', ')})${stops ? '' : ': sampling does not stop at it'}`,
    ),
    ...(hasTemplate ? [] : ['no chat template']),
  ];
}

function templateTable({ rows }: Inspection, width: number): string[] {
  const head = ['Template', 'ids', 'BOS', 'header', 'system', 'date', 'decode', 'SFT=RL'];
  const cells = rows.map((row) => ('ids' in row ? cellsOf(row) : refusedCells(row, head.length)));
  const ends = rows.map((row) => ('ids' in row ? `   ${endsOf(row.ids)}` : ''));
  const lines = alignColumns([head, ...cells]);
  const withEnds = lines.map((line, i) => (line + (i === 0 ? '   first … last' : ends[i - 1]!)).trimEnd());
  const shown = withEnds.every((line) => line.length <= width)
    ? withEnds
    : lines.map((line) => line.trimEnd());
  return [...shown, ...wrap(LEGEND, width - 1).map((line) => ` ${line}`)];
}

const LEGEND =
  "header: the prompt ends in the assistant's header · system: EMPTY, a turn without words; OWN, words of the template; LOST, the message is missing · date: TODAY, the ids change tomorrow · decode: the decoded text encodes to the same ids · SFT=RL: SFT and evaluation have the ids of training";

const yes = (holds: boolean, otherwise = 'NO') => (holds ? 'yes' : otherwise);

const cellsOf = (row: TemplateRow): string[] => [
  nameOf(row),
  String(row.ids.length),
  String(row.bos),
  row.header === null ? '–' : yes(row.header, 'none'),
  row.system,
  row.dated.length > 0 ? 'TODAY' : 'no',
  yes(row.roundTrip),
  yes(isSame(row.ids, row.sftIds) && isSame(row.ids, row.evaluationIds)),
];

const refusedCells = (row: RefusedRow, count: number): string[] => [
  nameOf(row),
  'refused',
  ...Array<string>(count - 2).fill(''),
];

const LONGEST_NAME = 24;

const nameOf = ({ name }: { name: string }) => ` ${shortened(name, LONGEST_NAME)}`;

/** The first two ids and the last two. */
const endsOf = (ids: readonly number[]) =>
  ids.length <= 4 ? ids.join(' ') : `${ids.slice(0, 2).join(' ')} … ${ids.slice(-2).join(' ')}`;

const LABELS = { fail: colors.red('FAIL'), warn: colors.yellow('WARN'), inform: 'note' };

function findingLines({ verdict, says, remedy }: InspectionCheck, width: number): string[] {
  if (verdict === 'pass' || verdict === 'not applicable') return [];
  const indented = (text: string) => wrap(text, width - 6).map((line) => `      ${line}`);
  const [first, ...rest] = indented(says);
  return [
    `${LABELS[verdict]}  ${first!.trimStart()}`,
    ...rest,
    ...(remedy === undefined || verdict === 'inform' ? [] : indented(`do: ${remedy}`)),
    '',
  ];
}

function decodingTable({ decoding }: Inspection): string[] {
  return alignColumns([
    ['Decoding', 'training', 'evaluation', 'generation_config.json'],
    ...decoding.map(({ name, training, evaluation, folder }) => [
      ` ${name}`,
      String(training),
      evaluation,
      String(folder ?? '–'),
    ]),
  ]);
}

/** What mistakes with padding would do to a batch of these prompts. */
function paddingLines({ rows, padding, measured, generations }: ShownInspection): string[] {
  const lengths = rows.flatMap((row) => ('ids' in row ? [row.ids.length] : []));
  if (!padding)
    return [`none: all prompts have ${lengths[0] ?? 0} ids, so nothing could go wrong or be proven`];
  const { prompts, width, shortest, cut } = padding;
  return [
    `none here. Padded to one width, these ${prompts} prompts of ${shortest} to ${width} ids have up to ${width - shortest} pads each, and the usual mistakes would do this:`,
    `cut by count: up to ${cut.tokens} tokens, ${cut.characters} characters, of the prompt in the text that is rewarded, in ${cut.prompts} of ${prompts} groups`,
    ...(measured
      ? measuredLines(measured)
      : // With the weights it is left unmeasured for a masked-diffusion model only.
        generations
        ? ['in nats: not for a masked-diffusion model']
        : ['in nats, with the weights: --generate']),
  ];
}

function measuredLines({
  completions,
  tokens,
  alone,
  sampler,
  positions,
  attended,
  mask,
}: PaddingMeasured): string[] {
  const nats = (apart: Apart | null) =>
    apart === null ? 'does not fit the context' : `${formatValue(apart.mean)} nats per token`;
  return [
    `mask placed as if the padding were on the right: ${mask.tokens} of ${tokens} tokens lost, ${mask.completions} of ${completions} completions trained on nothing`,
    `positions that count the padding: ${nats(positions)}${positions && positions.mean < 1e-3 ? ' (they are relative)' : ''}`,
    `padding attended to: ${nats(attended)}`,
    `without padding, as here: a completion alone and in the batch differ by at most ${formatValue(alone.most)} nats per token, sampled and scored by ${formatValue(sampler.most)}`,
  ];
}

function generationTable({ generations }: ShownInspection, width: number): string[] {
  if (!generations) return [];
  return [
    '',
    ...alignColumns([
      ['Generation', 'T', 'limit', 'ended', 'tokens', 'differ', 'blank'],
      ...generations.map((one) => [
        nameOf({ name: one.prompt }),
        String(one.temperature),
        String(one.maxNewTokens),
        `${one.ended} of ${one.completions}`,
        one.lengths[0] === one.lengths[1] ? String(one.lengths[0]) : one.lengths.join('–'),
        String(one.distinct),
        String(one.blank),
      ]),
    ]).map((line, i) =>
      i === 0 ? line : `${line}   ${shortened(generations[i - 1]!.text, width - line.length - 3)}`,
    ),
  ];
}

function countLine(checks: readonly InspectionCheck[]): string {
  const count = (verdict: InspectionCheck['verdict']) =>
    checks.filter((check) => check.verdict === verdict).length;
  const parts = [
    [count('pass'), 'passed'],
    [count('inform'), 'noted'],
    [count('warn'), 'warned'],
    [count('fail'), 'failed'],
    [count('not applicable'), 'not applicable'],
  ].filter(([number]) => number !== 0);
  return `${checks.length} checks: ${parts.map((pair) => pair.join(' ')).join(', ')}.`;
}
