import { createColors } from 'picocolors';
import { claimStdout } from './claim-stdout.js';
import { formatDuration } from './duration.js';

/** What is shown of one training step. */
export interface StepRow {
  step: number;
  steps: number;
  /** Mean and standard deviation over the step's completions; SFT has no rewards. */
  reward?: number | undefined;
  rewardStd?: number | undefined;
  /** Mean completion length in tokens. */
  length: number;
  /** Share of completions cut at the token limit, 0 to 1. */
  clippedRatio?: number | undefined;
  tokensPerSecond: number;
  secondsLeft: number;
  /** Completions that expert iteration kept. */
  kept?: number | undefined;
  /** Not there for a step that had nothing to learn from. */
  loss?: number | undefined;
  gradNorm?: number | undefined;
  /** KL to the reference, where there is one. */
  kl?: number | undefined;
}

/** The end of a run: words for people, one object for programs. */
export interface Summary {
  text: string;
  data: object;
}

/** Shows a run while it goes on. */
export interface Reporter {
  step(row: StepRow): void;
  /** A message of its own, above the live line. */
  note(text: string): void;
  done(summary: Summary): void;
  /** Takes the live line away and restores the cursor, for runs that end without `done`. Safe to call twice. */
  close(): void;
}

/** Where text goes; a terminal says so and knows its width. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** How a run is shown. */
export interface ReporterOptions {
  /** JSON rows on `stream`, notes on `chatter`. */
  json?: boolean;
  /** Standard output when not given. */
  stream?: Output;
  /** Standard error when not given. */
  chatter?: Output;
}

const HIDE_CURSOR = '\x1b[?25l';
const SHOW_CURSOR = '\x1b[?25h';
const CLEAR_LINE = '\r\x1b[2K';

/** A live line on a terminal, one plain line a step elsewhere, or one JSON object a step. */
export function createReporter(options: ReporterOptions = {}): Reporter {
  const { json = false, stream = process.stdout, chatter = process.stderr } = options;
  if (json) return jsonReporter(stream === process.stdout ? claimStdout() : stream, chatter);
  return stream.isTTY && process.env.TERM !== 'dumb' ? liveReporter(stream) : plainReporter(stream);
}

function jsonReporter(stream: Output & Partial<Disposable>, chatter: Output): Reporter {
  return {
    step: (row) => stream.write(`${JSON.stringify(row)}\n`),
    note: (text) => chatter.write(`${text}\n`),
    done: ({ data }) => stream.write(`${JSON.stringify(data)}\n`),
    close: () => stream[Symbol.dispose]?.(),
  };
}

function plainReporter(stream: Output): Reporter {
  const print = (text: string) => stream.write(`${text}\n`);
  return {
    step: (row) => print(formatStep(row, Number.POSITIVE_INFINITY)),
    note: print,
    done: ({ text }) => print(text),
    close: () => {},
  };
}

function liveReporter(stream: Output): Reporter {
  let row: StepRow | undefined;
  const { dim } = createColors(process.env.NO_COLOR === undefined);
  // One column stays free: a full line would wrap on some terminals and could not be redrawn. Some say 0 for unknown.
  const draw = () => row && stream.write(CLEAR_LINE + formatStep(row, (stream.columns || 80) - 1, dim));
  const restore = () => {
    if (row) stream.write(CLEAR_LINE + SHOW_CURSOR);
    row = undefined;
    process.off('exit', restore);
  };
  return {
    step(next) {
      if (!row) {
        stream.write(HIDE_CURSOR);
        process.on('exit', restore);
      }
      row = next;
      draw();
    },
    note(text) {
      stream.write(`${row ? CLEAR_LINE : ''}${text}\n`);
      draw();
    },
    done({ text }) {
      restore();
      stream.write(`${text}\n`);
    },
    close: restore,
  };
}

/** One step in at most `width` columns: what matters most comes first, what does not fit is left out. */
export function formatStep(
  row: StepRow,
  width: number,
  label: (text: string) => string = (text) => text,
): string {
  const all: [name: string, value: string | undefined][] = [
    ['step', `${row.step}/${row.steps}`],
    [
      'reward',
      row.reward === undefined ? undefined : `${row.reward.toFixed(3)} (sd ${row.rewardStd?.toFixed(3)})`,
    ],
    ['kept', row.kept?.toString()],
    ['length', row.length.toFixed(1)],
    ['tokens/s', row.tokensPerSecond.toFixed(0)],
    ['left', formatDuration(row.secondsLeft)],
    ['cut', row.clippedRatio === undefined ? undefined : `${(100 * row.clippedRatio).toFixed(0)}%`],
    ['kl', row.kl?.toPrecision(3)],
    ['grad', row.gradNorm?.toPrecision(3)],
    ['loss', row.loss?.toPrecision(3)],
  ];
  const parts = all.filter((part): part is [string, string] => part[1] !== undefined);
  let line = '';
  let used = 0;
  for (const [name, value] of parts) {
    const gap = used === 0 ? '' : '  ';
    const size = gap.length + name.length + 1 + value.length;
    if (used + size > width) break;
    line += `${gap}${label(name)} ${value}`;
    used += size;
  }
  return line === '' ? `${row.step}/${row.steps}`.slice(0, Math.max(0, width)) : line;
}
