/** Lines of names and numbers, whoever prints them: verl, prime-rl, MiniMind, a script of one's own. */
import { mean, moments } from '../../../maths/moments.js';
import type { Line } from '../lines.js';
import { producerOf } from '../producers/index.js';
import { unknown } from '../producers/others.js';
import { Collector } from '../rows/collector.js';
import { commonName } from '../rows/metric-names.js';
import { isMetricName } from '../rows/metric-row.js';
import { type Head, type NamedNumber, namedLine } from '../rows/named-numbers.js';
import { PrintedDecimals } from '../rows/printed-decimals.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { Hints } from '../series/hints.js';
import { plain, valueColumn } from './cells.js';
import type { LogFormat } from './log-format.js';

/** Longer lines are text. */
const MOST_CHARACTERS = 20_000;
/** What a line of numbers has in it, found quickly. */
const LOOKS_TELLING =
  /[:=|│┃]|step|loss|reward|iter|upd|episode|epoch|rollout|round|batch|kl|entropy|grad|len|trunc|clip/i;
const HAS_NUMBER = /\d|\b(?:nan|inf)/i;
/** Rows of dicts are read as such. */
const IS_DICT = /\{\s*['"]/;
/** A progress bar, whose own numbers may stand behind it: `Epoch: 12%|█ | 12/100 [00:10<00:33, loss=0.3]`. */
const BAR = /([^%]*?)\d+%\|[^|]*\|\s*(\d+)\/(\d+)\s*\[/;

/** Signs before a name in a list or a table. */
const LIST_MARKS = /^[\s|│┃•*`-]+/;

/** Matches what stands before the numbers of one completion: they are none of the step's. */
const OF_SAMPLE =
  /^[\s|•*`>-]*(?:(?:sample|completion|response|example|candidate)\s*(?:#?\d|:)|(?:answer|generation|output)\s+#?\d)/i;

/** Matches a line of a checkpoint: `Saved best model at step 10 (reward: 0.81)`. */
const OF_CHECKPOINT = /^(?:(?!step)[^=])*\b(?:sav(?:ed|ing)|best|checkpoint)\b/i;
/** Matches a line of a part of a step: `[micro 1/4] loss=0.1`. */
const WITHIN_STEP =
  /^[^=:|\d]*\b(?:micro|mini|inner|sub)(?:[ _-]?(?:batch|step|epoch|update|iter\w*))?\W*\d/i;

/** The step that is being told. */
interface Block {
  head: Head | undefined;
  line: number;
  /** The last line that told something of it. */
  last: number;
  values: Map<string, number[]>;
  /** Rewards of each group. */
  groups: (readonly number[])[];
  /** Whether a line told step and metrics at once: what stands alone below is none of it. */
  whole: boolean;
  /** Whether its lines have a name and a number each. */
  isList?: true;
}

/** Matches a metric of many steps, of which the mean counts: `actor/entropy: mean=0.4 min=0.1 max=0.9`. */
const SUMMED = /^[\s*-]*(\S+): mean=(\S+) min=\S+ max=\S+\s*$/;
/** Names of what an epoch comes to. */
const MEAN = /^(avg|average|mean|epoch)[ _]/i;

export class NamedLines implements LogFormat {
  readonly #collector = new Collector();
  /** Rows of lists, which may be sample text: read only where no other row is. */
  readonly #lists = new Collector();
  readonly #decimals = new PrintedDecimals();
  #block: Block | undefined;
  /** A line of one name and its number, and nothing else, that no step was told before. */
  #single: { line: number; number: NamedNumber } | undefined;
  /** By the words before them: bars may stand within each other. */
  readonly #bars = new Map<string, { before: number; done: number }>();
  /** The last bar, and whether it had the numbers of the one before it. */
  #painted = { done: '', shown: '', isAgain: false };
  #paintsTwice = false;
  /** Whether metrics stand at something that is shorter than an epoch. */
  #hasSteps = false;
  /** Whether a line told its step by words. */
  #hasHeads = false;
  /** Cells of the table that is being told, and the place of its values. */
  #table: { cells: number; value: number } | undefined;
  hints: Hints = {};

  kind(): string {
    const { name } = this.hints.producer!;
    return name === 'unknown' ? 'console log' : `${name} console log`;
  }

  take({ line, text: given }: Line): void {
    const text = given.length > MOST_CHARACTERS ? given : this.#cellsOf(given).replace(SUMMED, '$1: $2');
    if (
      text.length > MOST_CHARACTERS ||
      IS_DICT.test(text) ||
      !HAS_NUMBER.test(text) ||
      !LOOKS_TELLING.test(text)
    )
      return;
    const bar = text.includes('%|') ? BAR.exec(text) : null;
    const { head: told, epoch, numbers } = namedLine(bar ? besideBar(bar, text) : text);
    if (bar && told?.unit !== 'step' && this.#isPaintedAgain(bar[1]! + bar[2], numbers)) return;
    // A bar's own numbers may tell the step that they are of.
    const head = bar && told?.unit !== 'step' ? this.#barHead(bar[1]!, Number(bar[2])) : told;
    const telling = numbers.filter(({ name }) => isMetricName(name));
    const isMean = telling.length > 0 && telling.every(({ name }) => MEAN.test(name));
    // What sums up an epoch is no step.
    if (head?.unit === 'epoch' && this.#hasSteps && isMean) return;
    this.#hasSteps ||= head !== undefined && head.unit !== 'epoch' && telling.length > 0;
    const isAlone = telling.length === 0;
    // A script may repeat the reward of the step when it saves a checkpoint.
    if (head && head.step === this.#block?.head?.step && OF_CHECKPOINT.test(text)) return;
    // The bar of the run, which has no words, may be all that tells the step; others are of what is done within one.
    const opens = bar ? bar[1]!.trim() === '' && !this.#hasHeads : head !== undefined;
    if (head && !bar) this.#hasHeads = true;
    if (head && (!isAlone || (opens && head.step > (this.#block?.head?.step ?? -1)))) {
      if (head.step !== this.#block?.head?.step || head.unit !== this.#block.head.unit)
        this.#open(head, line);
      if (telling.length > 0) this.#add(numbers, epoch, true);
    } else if (!head && this.#block?.head && !this.#block.whole) {
      if (OF_SAMPLE.test(text)) return;
      // Lines below a step's heading hold its metrics, but also speeds and sizes.
      this.#add(
        numbers.filter(({ name }) => isMetricName(name) || commonName(name) !== undefined),
        epoch,
        false,
      );
    } else if (!head && this.#isBelow(line, text, numbers)) {
      this.#add(numbers, undefined, true);
    } else if (
      !head &&
      !WITHIN_STEP.test(text) &&
      (telling.length > 1 || this.#isListed(line, text, numbers))
    ) {
      if (!this.#continues(line, numbers)) this.#open(undefined, line);
      this.#add(numbers, epoch, true);
      if (this.#block) this.#block.last = line;
    }
    if (telling.length > 0 && this.#block) this.#block.last = line;
  }

  /** A row of a table with a metric per line as its name and its value: other cells count, or are extremes. */
  #cellsOf(text: string): string {
    if (!/^\s*[|│]/.test(text)) {
      this.#table = undefined;
      return text;
    }
    const cells = text
      .trim()
      .replace(/^[|│]|[|│]$/g, '')
      .split(/[|│]/);
    const value = valueColumn(cells.map((cell) => cell.trim()));
    if (value !== undefined) this.#table = { cells: cells.length, value };
    const isRow = this.#table?.cells === cells.length && value === undefined && HAS_NUMBER.test(text);
    return isRow
      ? `| ${cells[0]!.trim()} | ${plain(cells[this.#table!.value]!.trim(), cells[0]!.trim())} |`
      : text;
  }

  /** Whether a line is the reward of the step in the line above, and nothing else: `average reward score: 0.2`. */
  #isBelow(line: number, text: string, numbers: readonly NamedNumber[]): boolean {
    const block = this.#block;
    const [number, more] = numbers;
    if (!block?.head || line !== block.last + 1 || !number || more || number.list) return false;
    const isReward = (name: string) => commonName(name) === 'reward';
    const isAll = text.trim() === `${number.name}: ${number.text}`;
    return isAll && isReward(number.name) && ![...block.values.keys()].some(isReward);
  }

  /** Whether a line of one name and its number stands in a list of such lines, whose first two open a step. */
  #isListed(line: number, text: string, numbers: readonly NamedNumber[]): boolean {
    const [number, more] = numbers;
    const before = this.#single;
    this.#single = undefined;
    if (!number || more || !text.replace(LIST_MARKS, '').startsWith(number.name)) return false;
    if (this.#block?.isList && this.#continues(line, numbers)) return true;
    this.#single = { line, number };
    if (before?.line !== line - 1 || before.number.name === number.name) return false;
    this.#open(undefined, before.line);
    this.#add([before.number], undefined, true);
    Object.assign(this.#block!, { last: before.line, isList: true });
    return true;
  }

  finish(): CollectedLog[] {
    this.#close();
    const decimals = this.#decimals.result();
    const [told, listed] = [this.#collector, this.#lists].map((all) => all.finish());
    const runs = (told!.some(({ entries }) => entries.length > 0) ? told! : listed!).map((run) => ({
      ...run,
      decimals,
    }));
    const producer = producerOf(runs[0]!.names);
    // transformers' Trainer prints dicts alone; lines in its words are those of a script.
    this.hints = { producer: producer.averages ? unknown : producer };
    return runs;
  }

  /** Whether a line without a step belongs to the one above it: it repeats no name. */
  #continues(line: number, numbers: readonly NamedNumber[]): boolean {
    const block = this.#block;
    if (!block || line !== block.last + 1) return false;
    return block.groups.length === 0 && numbers.every(({ name, list }) => !list && !block.values.has(name));
  }

  /** Whether a bar only shows once more what it showed: tqdm paints at the count, and again at the numbers. */
  #isPaintedAgain(done: string, numbers: readonly NamedNumber[]): boolean {
    if (numbers.length === 0) return false;
    const last = this.#painted;
    const shown = JSON.stringify(numbers);
    const isAgain = shown === last.shown;
    this.#painted = { done, shown, isAgain };
    if (isAgain) return this.#paintsTwice;
    if (last.isAgain && done === last.done && !this.#paintsTwice) {
      this.#paintsTwice = true;
      // The count came with the numbers of the step before it.
      this.#block = undefined;
    }
    return false;
  }

  /** The step by a bar; another bar that begins anew goes on where the one before it ended. */
  #barHead(label: string, done: number): Head {
    const words = label.replace(/\d+/g, '');
    const bar = this.#bars.get(words) ?? { before: 0, done: 0 };
    this.#bars.set(words, bar);
    if (done < bar.done) bar.before += bar.done;
    bar.done = done;
    return { unit: 'step', step: bar.before + done };
  }

  #open(head: Head | undefined, line: number): void {
    this.#close();
    this.#block = { head, line, last: line, values: new Map(), groups: [], whole: false };
  }

  #add(numbers: readonly NamedNumber[], epoch: number | undefined, whole: boolean): void {
    const { values, groups } = this.#block!;
    this.#block!.whole ||= whole;
    if (epoch !== undefined && this.#block!.head?.unit !== 'epoch') values.set('epoch', [epoch]);
    for (const { name, text, value, list } of numbers) {
      if (list && isMetricName(name)) groups.push(list);
      if (list) continue;
      this.#decimals.see(name, text);
      const known = values.get(name);
      if (known) known.push(value);
      else values.set(name, [value]);
    }
  }

  #close(): void {
    if (!this.#block) return;
    const { head, line, values, groups, isList } = this.#block;
    this.#block = undefined;
    const row = {
      // A mean that the log names is of more than the rewards that it prints.
      ...(![...values.keys()].some((name) => commonName(name) === 'reward') && rewardsOf(groups)),
      ...Object.fromEntries([...values].map(([name, all]) => [name, mean(all)])),
    };
    const names = Object.keys(row);
    if (!names.some(isMetricName)) return;
    const place = head && {
      step: head.step,
      ...(head.lastStep !== undefined && { lastStep: head.lastStep }),
    };
    (isList ? this.#lists : this.#collector).add({ values: row, names, ...place }, line);
  }
}

/** Returns the text on both sides of a bar; its label may hold metrics: `loss 0.3 reward 0.5:  12%|█ | 12/100 [`. */
function besideBar([bar, label]: RegExpExecArray, text: string): string {
  const behind = text.slice(text.indexOf(bar) + bar.length);
  return /\d\.\d/.test(label!) ? `${label!.replace(/:\s*$/, '')} | ${behind}` : behind;
}

/** What lists of rewards tell, a group each. */
function rewardsOf(groups: readonly (readonly number[])[]): Record<string, number> {
  if (groups.length === 0) return {};
  const flat = groups.filter((group) => group.every((reward) => reward === group[0]));
  return {
    reward: mean(groups.flat()),
    reward_std: mean(groups.map((group) => moments(group, 1).deviation)),
    frac_reward_zero_std: flat.length / groups.length,
  };
}
