/** The rows of a strip of tokens: lines of so many columns, with words where a part begins. */
import type { CompletionAnswer } from 'grpo/studio';
import { visible } from '../../parts/safe-text.js';
import type { TokenText } from '../../parts/token-text.js';
import { SOURCES } from './measures.js';

/** Prompt and completion as one sequence: its first `prompt` places are the prompt's. */
export interface Sequence {
  prompt: number;
  length: number;
  idAt(place: number): number | undefined;
  sourceAt(place: number): number;
}

export function sequenceOf({ promptIds, promptSpans, columns, count }: CompletionAnswer): Sequence {
  const prompt = promptIds?.length ?? 0;
  const messages = promptSpans?.filter(({ kind }) => kind === 'message') ?? [];
  const isTemplate = (place: number) =>
    messages.length > 0 && !messages.some(({ start, end }) => place >= start && place < end);
  return {
    prompt,
    length: prompt + count,
    idAt: (place) => (place < prompt ? promptIds![place] : columns.ids?.[place - prompt]),
    sourceAt(place) {
      if (place < prompt) return isTemplate(place) ? SOURCES.template : SOURCES.prompt;
      return columns.source?.[place - prompt] ?? SOURCES.policy;
    },
  };
}

export type StripRow =
  | { kind: 'line'; start: number; end: number }
  | { kind: 'part'; text: string }
  /** The boundary of prompt and completion. */
  | { kind: 'boundary'; count: number }
  /** Prompt lines that are not shown. */
  | { kind: 'more'; tokens: number };

/** The space around a token. */
const TOKEN_GAP = 0.5;

/** Lines of the prompt that are shown before the reader asks for all. */
const PROMPT_LINES = 6;

/** Characters of a role that are shown. */
const MOST_OF_ROLE = 60;

interface Layout {
  columns: number;
  isPromptWhole: boolean;
}

export function stripRows(
  { promptSpans, finish }: Pick<CompletionAnswer, 'promptSpans' | 'finish'>,
  sequence: Sequence,
  textAt: (place: number) => TokenText,
  { columns, isPromptWhole }: Layout,
): StripRow[] {
  const { prompt, length } = sequence;
  const parts = partsOf(promptSpans, prompt);
  const first: StripRow[] = parts.flatMap(({ name, start, end }) => [
    ...(name === undefined ? [] : [{ kind: 'part' as const, text: name }]),
    ...lines(start, end, textAt, columns),
  ]);
  const rows: StripRow[] = isPromptWhole ? first : lastRows(first);
  rows.push({ kind: 'boundary', count: length - prompt }, ...lines(prompt, length, textAt, columns));
  if (length > prompt) rows.push({ kind: 'part', text: endOf(finish) });
  return rows;
}

function endOf(finish: string | undefined): string {
  if (finish === 'stop') return 'end: the policy stopped';
  return finish === 'length' ? 'cut off: the length was used up' : 'end of the completion';
}

/** The prompt in parts that follow each other, by its messages. */
function partsOf(spans: CompletionAnswer['promptSpans'], count: number) {
  const parts: { name: string | undefined; start: number; end: number }[] = [];
  let at = 0;
  const named = spans?.filter(({ kind }) => kind === 'message' || kind === 'generation') ?? [];
  const add = (name: string | undefined, start: number, end: number) => {
    if (end > start) parts.push({ name, start, end });
  };
  for (const { kind, role, start, end } of [...named].sort((a, b) => a.start - b.start)) {
    add('template', at, start);
    // A role is text of the data set.
    const name = role === undefined ? undefined : visible(role.slice(0, MOST_OF_ROLE));
    add(
      kind === 'generation' ? `${name ?? 'assistant'}, opened by the template` : (name ?? kind),
      start,
      end,
    );
    at = Math.max(at, end);
  }
  add(named.length > 0 ? 'template' : 'prompt', at, count);
  return parts;
}

function lines(
  start: number,
  end: number,
  textAt: (place: number) => TokenText,
  columns: number,
): StripRow[] {
  const rows: StripRow[] = [];
  let [from, used] = [start, 0];
  for (let place = start; place < end; place++) {
    const { width: own, endsLine } = textAt(place);
    const width = own + TOKEN_GAP;
    if (used + width > columns && place > from) {
      rows.push({ kind: 'line', start: from, end: place });
      [from, used] = [place, 0];
    }
    used += width;
    if (endsLine) {
      rows.push({ kind: 'line', start: from, end: place + 1 });
      [from, used] = [place + 1, 0];
    }
  }
  if (from < end) rows.push({ kind: 'line', start: from, end });
  return rows;
}

function lastRows(rows: StripRow[]): StripRow[] {
  if (rows.length <= PROMPT_LINES) return rows;
  const hidden = rows.slice(0, -PROMPT_LINES);
  const tokens = hidden.reduce((sum, row) => sum + (row.kind === 'line' ? row.end - row.start : 0), 0);
  const shown = rows.slice(-PROMPT_LINES);
  const part = hidden.findLast((row) => row.kind === 'part');
  return [
    { kind: 'more', tokens },
    ...(part && shown[0]!.kind === 'line' ? [{ ...part, text: `${part.text}, continued` }] : []),
    ...shown,
  ];
}

/** The row that has a place; undefined where it is not shown. */
export const rowOf = (rows: readonly StripRow[], place: number): number | undefined => {
  const found = rows.findIndex((row) => row.kind === 'line' && place >= row.start && place < row.end);
  return found < 0 ? undefined : found;
};

/** The place that a key leads to. */
export function placeAfter(
  key: string,
  place: number,
  rows: readonly StripRow[],
  sequence: Sequence,
): number {
  const shown = rows.find((row) => row.kind === 'line');
  const first = shown?.start ?? 0;
  const within = (to: number) => Math.max(first, Math.min(sequence.length - 1, to));
  switch (key) {
    case 'ArrowRight':
      return within(place + 1);
    case 'ArrowLeft':
      return within(place - 1);
    case 'Home':
      return within(sequence.prompt);
    case 'End':
      return sequence.length - 1;
    case 'ArrowDown':
      return acrossLine(place, rows, 1);
    case 'ArrowUp':
      return acrossLine(place, rows, -1);
    default:
      return place;
  }
}

/** The token of the line above or below that stands about where this one does. */
function acrossLine(place: number, rows: readonly StripRow[], by: 1 | -1): number {
  const all = rows.filter((row) => row.kind === 'line');
  const line = all.findIndex(({ start, end }) => place >= start && place < end);
  const [from, to] = [all[line], all[line + by]];
  if (!from || !to) return place;
  const share = (place - from.start) / (from.end - from.start);
  return to.start + Math.floor(share * (to.end - to.start));
}
