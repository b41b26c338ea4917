import type { MetricSeries } from '../../series.js';
import type { Line } from '../lines.js';
import { numberOf } from '../rows/metric-row.js';
import { RAY } from '../rows/named-numbers.js';
import type { Hints } from './hints.js';
import { flatSettings, type Setting, settingsMeaning } from './settings.js';

/** A command that trains, wherever a shell or a script prints it. */
const COMMAND =
  /(?:^|[+$#>]\s+|command:\s*)((?:\w+=\S+\s+)*(?:\S*\/)?(?:python3?|torchrun|accelerate launch|deepspeed|uv run|swift rlhf|ray job submit)\s.*)$/i;
/** `--beta 0.04`, `--beta=0.04`, `data.train_batch_size=8`. */
const ARGUMENT =
  /(?:^|\s)(?:--?([A-Za-z][\w.-]*)(?:[=\s]+(?!-)("[^"]*"|'[^']*'|\S+))?|\+{0,2}([A-Za-z_]\w*(?:\.\w+)+)=("[^"]*"|'[^']*'|\S+))/g;
/** `GRPOConfig(`, `Namespace(`: settings as Python prints an object of them. */
const OBJECT = /\b(?:\w*(?:GRPO|Training|RL|Script)\w*(?:Config|Arguments|Args)|Namespace)\(/;
const MEMBER = /\b([A-Za-z_]\w*)\s?=\s?('[^']*'|"[^"]*"|[-+\w.]+)(?=[,)\s]|$)/g;
/** Keys that hold all settings of a script: `{"config": {"lr": 1e-6}}`. */
const WRAPPER = /^(config|cfg|args|hparams|hyper_?param(eter)?s|settings|params)\./;
/** `KL coef: 0.01`, `  Total optimization steps = 200`. */
const NAMED = /^\W{0,8}([A-Za-z][\w .,()&/-]{1,80}?)\s*[:=]\s*([-+]?[\d.][\d.,eE+-]*|True|False|None)$/;
/** `GRPO 8 prompts mu=2 beta=0.02 lr=1e-5`: several settings before any metric. */
const SEVERAL = /(?<![\w/])([A-Za-z_][\w/.-]*)=([-+\w.]+)(?=[\s,;|]|$)/g;
/** Names that a line of metrics has. */
const OUTCOME = /loss|reward|eval|acc|(?<![\w/])step\W*\d/i;
/** A row of metrics: what stands alone below is a result. */
const BEGUN = /['"](loss|reward)['"]\s*:/;
const RAISED = /^(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Interrupt|Exit|Failure))\b(?::\s*(.*))?$/;

/** A line that says that training left something out: `gradient norm too large, skipping update`. */
const SKIPS =
  /\bskipp(?:ing|ed)\b.{0,60}\b(?:update|optimi[sz]er|step|batch|gradient|backward)|\b(?:update|step|batch|gradient)s?\b.{0,60}\bskipp(?:ing|ed)\b/i;

/** The header of a table: names between commas, or, without a number, between tabs or bars. */
const HEADER = /^[^\s,]+(?:,[^\s,]+){2,}$|^[^\d\t]*(?:\t[^\d\t]*){2,}$|^\s*\|\D*\|\s*$/;

/** More lines than a traceback has. */
const TRACEBACK_LINES = 300;
const MOST_SETTINGS = 1000;
const MOST_CHARACTERS = 4000;

/** Finds in a log what it says beside its metrics: the command, the settings, the last exception. */
export class LogFacts {
  #command: string | undefined;
  #goesOn = false;
  #inObject = false;
  #began = false;
  #traceback = Number.NEGATIVE_INFINITY;
  #exception: MetricSeries['exception'];
  #skips: MetricSeries['skips'];
  /** Settings and the line that has them. */
  readonly #settings = new Map<string, { value: Setting; line: number }>();

  take({ line, text }: Line): void {
    if (text.length > MOST_CHARACTERS && !OBJECT.test(text)) return;
    const plain = text.replace(RAY, '').trimEnd();
    this.#commandIn(plain, line);
    this.#objectIn(plain, line);
    this.#began ||= BEGUN.test(plain);
    const named = this.#began ? null : NAMED.exec(plain);
    if (named) this.#set(snake(named[1]!), named[2]!.replaceAll(',', ''), line);
    else if (!this.#began && !OUTCOME.test(plain)) this.#severalIn(plain, line);
    if (/skipp/i.test(plain) && !HEADER.test(plain) && SKIPS.test(plain)) {
      this.#skips ??= { count: 0, text: plain.trim().slice(0, 300), line };
      this.#skips.count++;
    }
    if (plain.includes('Traceback (most recent call last)')) this.#traceback = line;
    else if (line - this.#traceback < TRACEBACK_LINES) {
      const raised = RAISED.exec(plain);
      if (raised) {
        this.#exception = { text: plain.slice(0, 300), line };
        this.#traceback = Number.NEGATIVE_INFINITY;
      }
    }
  }

  /** Takes settings that stand in the log as a dict. */
  dict(settings: Readonly<Record<string, unknown>>, line: number): void {
    for (const [name, value] of Object.entries(flatSettings(settings)))
      this.#put(name.replace(WRAPPER, ''), value, line);
  }

  /** What was found; settings count that stand before the first entry. */
  hints(firstEntry = Number.POSITIVE_INFINITY): Hints {
    const settings = Object.fromEntries(
      [...this.#settings]
        .filter(([, { line }]) => line <= firstEntry)
        .map(([name, { value }]) => [name, value]),
    );
    const { meaning, ...told } = settingsMeaning(settings);
    return {
      ...told,
      meaning: {
        ...meaning,
        ...(this.#command !== undefined && { command: this.#command }),
        ...(this.#exception && { exception: this.#exception }),
        ...(this.#skips && { skips: this.#skips }),
      },
    };
  }

  #commandIn(text: string, line: number): void {
    const found = this.#goesOn ? text.trim() : COMMAND.exec(text)?.[1];
    if (found === undefined) return;
    const part = found.replace(/\\$/, '').trim();
    this.#command = this.#goesOn ? `${this.#command} ${part}` : part;
    this.#goesOn = found.endsWith('\\') && this.#command.length < MOST_CHARACTERS;
    if (this.#goesOn) return;
    for (const [, flag, value, key, of] of this.#command.matchAll(ARGUMENT))
      this.#set(flag ?? key!, value ?? of ?? 'True', line);
  }

  #severalIn(text: string, line: number): void {
    const found = [...text.matchAll(SEVERAL)];
    if (found.length < 3) return;
    for (const [, name, value] of found) this.#set(name!, value!, line);
  }

  #objectIn(text: string, line: number): void {
    const begins = OBJECT.exec(text);
    if (!begins && !this.#inObject) return;
    const inside = begins ? text.slice(begins.index + begins[0].length) : text;
    for (const [, name, value] of inside.matchAll(MEMBER)) this.#set(name!, value!, line);
    this.#inObject = !/\)\s*$/.test(inside) && (begins !== null || /=/.test(inside));
  }

  #set(name: string, text: string, line: number): void {
    const bare = text.replace(/^(['"])(.*)\1$/, '$2');
    const words: Readonly<Record<string, Setting>> = {
      True: true,
      False: false,
      None: null,
      true: true,
      false: false,
    };
    this.#put(name, Object.hasOwn(words, bare) ? words[bare]! : (numberOf(bare) ?? bare), line);
  }

  #put(name: string, value: Setting, line: number): void {
    if (this.#settings.size < MOST_SETTINGS && !this.#settings.has(name))
      this.#settings.set(name, { value, line });
  }
}

/** `Total train batch size (w. parallel)` as `total_train_batch_size`. */
const snake = (name: string): string =>
  name
    .replace(/\(.*$/, '')
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, '_');
