import { createColors } from 'picocolors';
import type { StageProgress } from '../progress/watch.js';
import { claimStdout } from './claim-stdout.js';

import { formatDuration } from './duration.js';
import { StageLine } from './stage-line.js';

/** Numbers of one training step for the console. */
export interface StepRow {
  /** Of a sweep: the run that the step belongs to, `2/6`. */
  arm?: string;
  step: number;
  steps: number;
  /** Mean and standard deviation over the step's completions; SFT has no rewards. */
  reward?: number | undefined;
  rewardStd?: number | undefined;
  /** Groups, and those of them in which rewards differ: the others teach nothing. */
  groups?: { all: number; differing: number } | undefined;
  /** Mean completion length in tokens. */
  length: number;
  /** Share of completions cut at the token limit, 0 to 1. */
  clippedRatio?: number | undefined;
  tokensPerSecond: number;
  secondsLeft: number;
  /** Seconds of the step and of its checks, its slowest stage with its share of the step, and what one function is at fault. */
  time?:
    | { seconds: number; checks: number; stage: string; share: number; fault?: string | undefined }
    | undefined;
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
export interface Reporter extends Disposable {
  step(row: StepRow): void;
  /** How far the stage in progress is; may be called as often as one likes. */
  progress(now: StageProgress): void;
  /** A message of its own, above the live line. */
  note(text: string): void;
  done(summary: Summary): void;
  /** Takes the live line away, for runs that end without `done`. Safe to call twice. */
  close(): void;
}

/** Destination of text; a terminal says so and knows its width. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
}

/** How a run is shown. */
export interface ReporterOptions {
  /** JSON rows on `stream`, everything else on `chatter`. */
  json?: boolean;
  /** Standard output when not given. */
  stream?: Output;
  /** Standard error when not given. */
  chatter?: Output;
}

const CLEAR_LINE = '\r\x1b[2K';

/** Milliseconds between two drawings of the live line. */
const REDRAW_MS = 100;
/** A stage shorter than this is not shown, it would only flicker; of many short ones in turn, one in so many seconds is. */
const SHOWN_AFTER_SECONDS = 1;
/** Silence without a terminal; a call of the engine, which nobody interrupts, may add some seconds. */
const SILENCE_MS = 25_000;

/**
 * Shows a run on its output. A terminal has one live line: the stage in progress, and the last step. Elsewhere each step
 * is a line, and so is the stage in progress after 25 seconds without another line.
 */
export function createReporter(options: ReporterOptions = {}): Reporter {
  const { json = false, stream = process.stdout, chatter = process.stderr } = options;
  const rows: Output & Partial<Disposable> = json && stream === process.stdout ? claimStdout() : stream;
  const screen = json ? chatter : stream;
  const isLive = screen.isTTY === true && process.env.TERM !== 'dumb';
  const stage = new StageLine(() => performance.now());
  const shown = isLive ? liveLine(screen, stage) : plainLines(screen, stage);
  const write = (object: object) => shown.above(() => rows.write(`${JSON.stringify(object)}\n`));
  let timer: NodeJS.Timeout | undefined;
  const close = () => {
    clearInterval(timer);
    timer = undefined;
    shown.close();
    rows[Symbol.dispose]?.();
  };
  return {
    step(row) {
      stage.end();
      if (json) write(row);
      else shown.step(row);
    },
    progress(now) {
      stage.report(now);
      shown.tick();
      // Nobody reports during a wait, but time goes on.
      timer ??= setInterval(shown.tick, isLive ? REDRAW_MS : 1000).unref();
    },
    note: (text) => shown.above(() => screen.write(`${text}\n`)),
    done({ text, data }) {
      close();
      if (json) write(data);
      else stream.write(`${text}\n`);
    },
    close,
    [Symbol.dispose]: close,
  };
}

/** How steps and stages appear on one kind of output. */
interface Shown {
  step(row: StepRow): void;
  /** Time has passed, or the stage has moved on. */
  tick(): void;
  /** Writes whole lines. */
  above(write: () => void): void;
  close(): void;
}

function plainLines(stream: Output, stage: StageLine): Shown {
  let printed = performance.now();
  const above = (write: () => void) => {
    write();
    printed = performance.now();
  };
  return {
    above,
    step: (row) => above(() => stream.write(`${formatStep(row, Number.POSITIVE_INFINITY)}\n`)),
    tick() {
      if (performance.now() - printed >= SILENCE_MS && stage.text !== '')
        above(() => stream.write(`${stage.text}\n`));
    },
    close: () => {},
  };
}

function liveLine(stream: Output, stage: StageLine): Shown {
  let row: StepRow | undefined;
  let drawn: number | undefined;
  /** When what stands there was last another text. */
  let changed = { time: performance.now(), text: '' };
  const { dim } = createColors(process.env.NO_COLOR === undefined);
  const clear = () => {
    if (drawn !== undefined) stream.write(CLEAR_LINE);
    drawn = undefined;
  };
  const draw = (isNew: boolean) => {
    const now = performance.now();
    const isShort = (stage.seconds ?? 0) < SHOWN_AFTER_SECONDS;
    const isShown = !isShort || (!isNew && now - changed.time >= 1000 * SHOWN_AFTER_SECONDS);
    if (!isShown && (!isNew || !row)) return;
    // One column stays free: a full line would wrap on some terminals and could not be redrawn. Some say 0 for unknown.
    const width = (stream.columns || 80) - 1;
    drawn = now;
    const text = formatLine(isShown ? stage.text : '', row, width, dim);
    if (text !== changed.text) changed = { time: now, text };
    stream.write(CLEAR_LINE + text);
  };
  return {
    step(next) {
      row = next;
      draw(true);
    },
    tick() {
      if (drawn === undefined || performance.now() - drawn >= REDRAW_MS) draw(false);
    },
    above(write) {
      clear();
      write();
      draw(true);
    },
    close() {
      clear();
      row = undefined;
    },
  };
}

/** The live line: the stage in progress, then as much of the last step as fits. */
function formatLine(
  stage: string,
  row: StepRow | undefined,
  width: number,
  label: (text: string) => string,
): string {
  if (stage === '') return row ? formatStep(row, width, label) : '';
  const gap = '  |  ';
  const room = width - stage.length - gap.length;
  const step = row && room > 0 ? formatStep(row, room, label) : '';
  return step === '' ? stage.slice(0, width) : stage + gap + step;
}

/** One step in at most `width` columns: the most important numbers first, as many as fit. */
export function formatStep(
  row: StepRow,
  width: number,
  label: (text: string) => string = (text) => text,
): string {
  const time = timeOf(row);
  const isSlow = row.time?.fault !== undefined;
  const all: [name: string, ...values: (string | undefined)[]][] = [
    ['arm', row.arm],
    ['step', `${row.step}/${row.steps}`],
    ['reward', rewardOf(row)],
    ['signal', ...signalOf(row)],
    ...(isSlow ? [time] : []),
    ['left', formatDuration(row.secondsLeft)],
    ['kept', row.kept?.toString()],
    ['length', row.length.toFixed(1)],
    ['tokens/s', row.tokensPerSecond.toFixed(0)],
    ...(isSlow ? [] : [time]),
    ['cut', row.clippedRatio === undefined ? undefined : `${(100 * row.clippedRatio).toFixed(0)}%`],
    ['kl', row.kl?.toPrecision(3)],
    ['grad', row.gradNorm?.toPrecision(3)],
    ['loss', row.loss?.toPrecision(3)],
  ];
  let line = '';
  let used = 0;
  for (const [name, ...values] of all) {
    if (values.every((value) => value === undefined)) continue;
    const gap = used === 0 ? '' : '  ';
    const taken = used + gap.length + name.length + 1;
    const value = values.find((one) => one !== undefined && taken + one.length <= width);
    if (value === undefined) break;
    line += `${gap}${label(name)} ${value}`;
    used = taken + value.length;
  }
  return line === '' ? `${row.step}/${row.steps}`.slice(0, Math.max(0, width)) : line;
}

function rewardOf({ reward, rewardStd }: StepRow): string | undefined {
  if (reward === undefined) return undefined;
  return Number.isNaN(reward) ? 'none' : `${reward.toFixed(3)} (sd ${rewardStd?.toFixed(3)})`;
}

/** In words, and shorter. */
function signalOf({ groups }: StepRow): string[] {
  if (!groups) return [];
  const short = `${groups.differing}/${groups.all}`;
  return groups.differing === 0 ? [`${short}: no group has two different rewards`, short] : [short];
}

function timeOf({ time }: StepRow): [name: string, ...values: string[]] {
  if (!time) return ['time'];
  const { seconds, checks, stage, share, fault } = time;
  const more = checks >= 0.1 * seconds ? ` + ${checks.toFixed(1)}s of checks` : '';
  const short = `${seconds.toFixed(1)}s${more}, ${stage} ${(100 * share).toFixed(0)}%`;
  return ['time', ...(fault === undefined ? [] : [`${short}: ${fault}`]), short];
}
