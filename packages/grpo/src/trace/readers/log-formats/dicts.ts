import { counted } from '../../../errors/counted.js';
import { excerpt, printable } from '../../../errors/printable.js';
import { isObject } from '../../../formats/json.js';
import type { Line } from '../lines.js';
import { cutOffDict, dictsIn, isCutOff, literal } from '../literal.js';
import { producerOf } from '../producers/index.js';
import type { BrokenParts } from '../reading.js';
import { Collector } from '../rows/collector.js';
import { metricRow } from '../rows/metric-row.js';
import { namedLine, RAY } from '../rows/named-numbers.js';
import type { CollectedLog, Progress } from '../rows/run-collector.js';
import type { LogFacts } from '../series/log-facts.js';
import type { LogFormat } from './log-format.js';

/** tqdm's bar without a label, as the Trainer shows its steps: ` 12%|█▏  | 12/100 [00:10<…`. */
const BAR = /^\s*\d+%\|[^|]*\|\s*(\d+)\/(\d+)\s*\[/;
/** What a dict of metrics has at its beginning, so that half a one can be told from other text. */
const BEGUN = /['"](loss|reward|step|eval_loss|train\/\w+|actor\/\w+|critic\/\w+)['"]\s*:/;
/** Where a dict of several lines may begin. */
const OPENS = /\{\s*(['"]|$)/;
/** A value of a dict whose brace may be missing. */
const PAIR = /['"][\w/.-]+['"]\s*:\s*[-+\d]/;
const ROW_OPENS = /^\s*\{\s*['"]/;
const ROW_ENDS = /\}\s*$/;
/** A row that is cut off before so many values tells nothing. */
const FEWEST_VALUES = 4;
/** A dict is over after so many lines, or so much text. */
const MOST_LINES = 2000;
const MOST_CHARACTERS = 2 ** 17;

export class Dicts implements LogFormat {
  readonly #collector = new Collector();
  #progress: Progress | undefined;
  /** Rows of numbers of which none is known as a metric of training, and the names in the first. */
  #others = 0;
  #otherNames: readonly string[] = [];
  /** A dict that goes on in the next line. */
  #begun: { line: number; before: string; text: string; widths: number[] } | undefined;
  /** The last row of a file of rows, where it was cut off. */
  #cut: { line: number; text: string; dict: Record<string, unknown>; before: string } | undefined;

  constructor(
    private readonly file: string,
    private readonly broken: BrokenParts,
    /** Whether each line must be a row. */
    private readonly onlyRows: boolean,
    private readonly facts: LogFacts,
  ) {}

  kind({ names }: CollectedLog): string {
    const { name } = producerOf(names);
    const whose = name === 'unknown' ? '' : `${name} `;
    return this.onlyRows ? `${whose}metrics, JSON Lines` : `${whose}log`;
  }

  take({ line, text, cut }: Line): void {
    if (text.trim() !== '') this.#leaveOutCut();
    // A row at the beginning of a line ends one that was cut off.
    if (this.#begun && ROW_OPENS.test(text) && BEGUN.test(text)) this.#giveUp();
    if (this.#begun && this.#goesOn(text)) return;
    const bar = text.includes('%|') ? BAR.exec(text) : null;
    if (bar) this.#progress = { done: Number(bar[1]), total: Number(bar[2]) };
    if (text.includes('{')) this.#dicts(line, text, cut ?? false);
    else if (!this.#withoutBrace(line, text)) this.#passOver(line, text);
  }

  finish(): CollectedLog[] {
    this.#giveUp();
    if (this.#cut) {
      const { line, text, dict, before } = this.#cut;
      this.#row(dict, line, before);
      this.#tellBroken(line, text, Object.keys(dict).length);
    }
    return this.#collector.finish(this.#progress);
  }

  notes(): string[] {
    if (!this.onlyRows || this.#others === 0) return [];
    const names = this.#otherNames.map((name) => printable(name, 40)).join(', ');
    return [
      `${counted(this.#others, 'row')} ${this.#others === 1 ? 'has' : 'have'} no metric of training, such as one with ${names}: left out.`,
    ];
  }

  #dicts(line: number, text: string, cut: boolean): void {
    const whole = this.#whole(text);
    const found: ReturnType<typeof dictsIn> = whole ? { dicts: [whole] } : dictsIn(text);
    const at = this.onlyRows || cut ? -1 : text.search(OPENS);
    if (at >= 0 && isOpen(text) && !found.dicts.some((dict) => metricRow(dict))) {
      this.#begun = { line, before: text.slice(0, at), text: text.slice(at), widths: [text.length] };
      return;
    }
    const before = text.slice(0, text.indexOf('{'));
    for (const dict of found.dicts) this.#row(dict, line, before);
    const unfinished = (found.cut || cut) && BEGUN.test(text);
    if (unfinished || (found.dicts.length === 0 && BEGUN.test(text)))
      this.#isBroken(line, text, found.cut, before);
    else if (found.dicts.length === 0) this.#passOver(line, text);
  }

  /** Takes what someone shortened to a step and some values: `rollout 0: ... 'rollout/raw_reward': 0.3,`. */
  #withoutBrace(line: number, text: string): boolean {
    const at = this.onlyRows ? -1 : text.search(PAIR);
    const before = text.slice(0, Math.max(0, at));
    // The end of a dict, whose beginning was left out.
    const isEnd = ROW_ENDS.test(text);
    if (at < 0 || (!isEnd && namedLine(before).head === undefined)) return false;
    const dict = literal(`{${text.slice(at).replace(isEnd ? ROW_ENDS : /,\s*$/, '')}}`);
    if (!isObject(dict)) return false;
    this.#row(dict, line, before);
    return true;
  }

  /** Whether a line belongs to the dict that was begun. */
  #goesOn(text: string): boolean {
    const begun = this.#begun!;
    const joined = `${begun.text}\n${text.replace(RAY, '')}`;
    const ends = text.includes('}');
    const whole = joined.slice(0, joined.lastIndexOf('}') + 1);
    // A terminal breaks lines of its own width anywhere, also within a name or a number.
    const [width] = begun.widths;
    const isBroken = begun.widths.every((one) => one === width) && text.length <= width!;
    const dict = ends
      ? ((isBroken ? literal(whole.replaceAll('\n', '')) : undefined) ?? literal(whole))
      : undefined;
    if (isObject(dict)) {
      this.#row(dict, begun.line, begun.before);
      this.#begun = undefined;
      return true;
    }
    if ((!ends || isCutOff(joined)) && begun.widths.length < MOST_LINES && joined.length < MOST_CHARACTERS) {
      this.#begun = { ...begun, text: joined, widths: [...begun.widths, text.length] };
      return true;
    }
    this.#giveUp();
    return false;
  }

  #giveUp(): void {
    const begun = this.#begun;
    this.#begun = undefined;
    if (begun && BEGUN.test(begun.text))
      this.#isBroken(begun.line, begun.text, cutOffDict(begun.text), begun.before);
  }

  /** Notes a row that is cut off. Its whole values count; in a file whose lines are rows only those of the last. */
  #isBroken(line: number, text: string, whole: Record<string, unknown> | undefined, before: string): void {
    const count = whole && metricRow(whole) ? Object.keys(whole).length : 0;
    const isRead = count >= FEWEST_VALUES;
    if (isRead && this.onlyRows) {
      this.#cut = { line, text, dict: whole!, before };
      return;
    }
    if (isRead) this.#row(whole!, line, before);
    this.#tellBroken(line, text, isRead ? count : 0);
  }

  /** Takes a row that was cut off for a broken one: it is not the last. */
  #leaveOutCut(): void {
    if (this.#cut) this.#tellBroken(this.#cut.line, this.#cut.text, 0);
    this.#cut = undefined;
  }

  #tellBroken(line: number, text: string, values: number): void {
    const read = values > 0 ? `, of which the first ${counted(values, 'value')} are read` : '';
    this.broken.add({ file: this.file, line, reason: `not a whole row${read}: ${excerpt(text.trim())}` });
  }

  /** The line may tell the step before the dict. */
  #row(dict: Record<string, unknown>, line: number, before: string): void {
    const row = metricRow(dict);
    if (!row) {
      const names = Object.keys(dict).filter((name) => typeof dict[name] === 'number');
      if (names.length > 0 && this.#others++ === 0) this.#otherNames = names.slice(0, 6);
      this.facts.dict(dict, line);
      return;
    }
    const tells = row.step === undefined && before.trim() !== '' && !before.includes('%|');
    const step = tells ? (namedLine(before.slice(-200)).head?.step ?? stepOfSpeed(before)) : undefined;
    this.#collector.add({ ...row, ...(step !== undefined && { step }) }, line, this.#progress);
  }

  /** The line as one JSON object: by far the most common, and by far the fastest. */
  #whole(text: string): Record<string, unknown> | undefined {
    if (!/^\s*\{\s*"/.test(text)) return undefined;
    try {
      return JSON.parse(text) as Record<string, unknown>;
    } catch {
      return undefined;
    }
  }

  #passOver(line: number, text: string): void {
    if (this.onlyRows)
      this.broken.add({ file: this.file, line, reason: `not a JSON object: ${excerpt(text.trim())}` });
  }
}

/** slime’s step before a dict of speeds, which has metrics of the rollout in it, too: `perf 12: {`. */
function stepOfSpeed(before: string): number | undefined {
  const found = /\bperf (\d+):\s*$/.exec(before);
  return found ? Number(found[1]) : undefined;
}

/** Whether more braces are opened than closed. */
const isOpen = (text: string) => text.split('{').length > text.split('}').length;
