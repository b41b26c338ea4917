/** Numbers with their names in a line of text: `step:3 - actor/entropy:0.4`, `Step 3 | Loss 0.1`, `mean_ret=-6.5, std=1.8`. */
import { EVALUATION_WORDS, inEvaluation } from './metric-names.js';
import { isMetricName, numberOf } from './metric-row.js';

/** A number, or a list of them, with its name. */
export interface NamedNumber {
  name: string;
  /** As it is printed. */
  text: string;
  value: number;
  /** The numbers where it is a list; `value` is their mean. */
  list?: readonly number[];
}

/** The line's own place in the run. */
export interface Head {
  step: number;
  lastStep?: number;
  /** What is counted: `step`, `iteration`, `episode`, `epoch`. */
  unit: string;
}

export interface NamedLine {
  head?: Head;
  epoch?: number;
  numbers: readonly NamedNumber[];
}

/** Words that count steps, the most reliable first: steps of the run, steps of an epoch, then episodes and epochs. */
const UNITS: readonly (readonly [unit: string, words: RegExp])[] = [
  ['step', /^(global|train|training|optimizer|grpo)[ _]?steps?$/i],
  ['step', /^_?steps?$/i],
  ['iteration', /^(iteration|iter|it)$/i],
  ['rollout', /^rollout$/i],
  ['round', /^round$/i],
  ['update', /^(update|upd)$/i],
  ['episode', /^(episode|ep)$/i],
  ['batch', /^batch$/i],
  ['epoch', /^epoch$/i],
];
const NUMBER = String.raw`[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)\b`;
const HEAD =
  /(?<![\w/])(?<!\b(?:micro|mini|inner|sub)[ _-])((?:global|train|training|optimizer|grpo)?[ _]?steps?|iteration|iter|it|rollout|round|update|upd|episode|ep|batch|epoch)\s*(?:[#:=]\s*)?[[(]?\s*(\d+)(?:\s*(?:\/|of)\s*(\d+))?\s*[\])]?(?![\w.])/gi;
/** The words behind a number, up to a sign or the next number. */
const WORDS = /^\s+([a-z][a-z_ ]*?)\s*(?=[-+.:=\d]|$|[^a-z_ ])/i;
/** `(12/500)` alone. */
const FRACTION = /[[(]\s*(\d+)\/(\d+)\s*[\])]/;
/** Numbers that do not count as a line's first: those of a date, a time or a place in the code. */
const LOGGED_AT = /\b\d+[-:/]\d\S*|\S+\.py:\d+/g;
/** A word behind which a fraction counts what is done within a step: `rollout (1/4)`. */
const WITHIN_STEP = /\b(?:rollout|sample|completion|generation|prompt|group)s?\W*$/i;
/** A name, a sign between, a number that may stand in a call and have a unit. */
const PAIR = new RegExp(
  String.raw`(?<![\w/.@-])([A-Za-z_][^\s|,;=:()[\]{}]{0,80}(?:\([^()\s]{0,20}\))?(?:[ ][A-Za-z_][^\s|,;=:()[\]{}]{0,40}){0,4})\s{0,30}[:=]\s*(?:(?:np\.\w+|numpy\.\w+|tensor|array)\()?\s*(${NUMBER})\)?\s?(%|ms|s\b)?(?![\w/:]|\.\w)`,
  'gi',
);
/** The next name and number of `loss 0.0123 reward 0.5`, between bars or commas. */
const NEXT = new RegExp(String.raw`\s*([A-Za-z_][\w./@ -]{0,60}?)\s+(${NUMBER})\s?(%|ms|s)?(?=\s|$)`, 'iy');
/** Deviation behind a number: `± 0.2`, `(+/- 0.2)`. */
const AROUND = new RegExp(String.raw`\s*\(?\s*(?:±|\+/?-)\s*(?:${NUMBER})(?:\s*\))?`, 'gi');
const STATISTIC = String.raw`(?:mean|avg|average|std|stdev|min|max|median)\s*[=: ]\s*(?:${NUMBER})`;
/** `rewards: mean=0.4, std=0.2`, `rewards: mean 0.4 (std 0.2)`: several numbers of one name. */
const OF_ONE_NAME = new RegExp(
  String.raw`(?<![\w/.])([A-Za-z_][\w/-]{0,40})\s?:\s+(${STATISTIC}(?:(?:,\s*|\s+\()${STATISTIC}\)?)*)`,
  'gi',
);
/** `approx_kl 0.01->0.03`: a value of the step's first update, or of its begin, and its last. */
const COURSE = new RegExp(
  String.raw`(?<![\w/.@-])([A-Za-z_][\w/.@-]{0,80})(?:\s?[:=]\s*|\s+)(${NUMBER})\s?(?:[-=]>|→)\s?(${NUMBER})(?![\w/:]|\.\w)`,
  'gi',
);
/** `ratio first/last 1.0/1.2 rstd 0.0/0.1`, `len(mean/min/max)=40/3/64`: several values of each name, and which. */
const WHICH =
  /\b(first|before|old|last|after|new|mean|avg|std|min|max)(?:\/(?:first|before|old|last|after|new|mean|avg|std|min|max)\b){1,3}/i;
const SEVERAL = new RegExp(
  String.raw`(?<![\w/.@-])([A-Za-z_][\w.@-]{0,80})(?:\([a-z/]+\)|\s[a-z]+(?:\/[a-z]+)+)?(?:\s?[:=]\s*|\s+)((?:${NUMBER})(?:\/(?:${NUMBER})){1,3})(?![\w/:]|\.\w)`,
  'gi',
);
const LIST = new RegExp(
  String.raw`(?<!\w)([A-Za-z_][\w ]{0,60}?)\s?[:=]\s*\[((?:\s*(?:${NUMBER})\s*,)+\s*(?:${NUMBER})\s*,?\s*)\]`,
  'gi',
);

/** `informative_groups=5/8`: how many of all. */
const OF_ALL = /(?<![\w/.@-])([A-Za-z_][\w/.@-]{0,80})\s?[:=]\s*(\d+)\/([1-9]\d*)(?![\w/.%])/g;

const LENGTH = /len|tokens?$/i;

/** A remark in brackets after a number: `0.42 (max 1.0)`. */
const REMARK = /(?<=\d)\s*\([^()]*\)/g;
/** A unit of what models write, behind a number. */
const UNIT = /\s(?:tokens?|nats?)\s*$/i;
/** Half a bracket, left where a pair inside was taken out: `R 0.2 (fmt=1)`. */
const HALF_BRACKET = /^\s*[)\]]|[([]\s*$/g;
/** Signs before the first name: `: `, `[071] `, `• `. */
const MARK = /^\s*(?::|\[\s*\d+\]|[•*▶-](?=\s))/;

/** A comma between thousands: `kl: 1,568,987.96`. In a list it parts numbers. */
const THOUSANDS = /,(?<=[:=\s|][-+]?[1-9]\d{0,2}(?:,\d{3})*,)(?=\d{3}(?!\d))/g;
/** `0,0012`: no number between thousands begins so. */
const DECIMAL_COMMA = /(?<![\d.,])0,\d{2,}(?![\d.,])/;
/** A setting in words: `algo=grpo` before a name would be a part of it. */
const WORDED = /(?<![\w/.@-])[A-Za-z_]\w*=(?!nan\b|inf)[A-Za-z][\w-]*(?=\s)/gi;
/** Quotes around a name, of a dict that lost its brace, and marks of Markdown. */
const MARKUP = /(["'])(?=[\w/.@ -]+\1\s*:)|["'](?<=[\w/.@-]["'])(?=\s*:)|`|\*\*/g;

/** Ray puts the process before each line. */
export const RAY = /^\(\w+ pid=\d+[^)]*\)\s/;

/** The time at which a line was logged. */
const TIME = /^\s*\[?(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+/;

/** Where in the code a line was logged: `module:function:112 - `. */
const PLACE = /(?<!\S)[\w.]+:[\w.<>]+:\d+ - /;

/** A number in a call, and what PyTorch prints behind it: `tensor(0.3, grad_fn=<MeanBackward0>)`. */
const CALL = new RegExp(String.raw`\b(?:tensor|array|np\.\w+)\(\s*(${NUMBER})[^()]*\)`, 'gi');

/** A word before the first number that makes a line an evaluation's; behind a hyphen or a dot it is a logger's, `math-test`. */
const EVALUATION = new RegExp(
  String.raw`^[^=:|\d]*\b(?<!(?<!\b(?:pre|post|mid|full))-|\w\.)(?:${EVALUATION_WORDS})\b`,
  'i',
);

/** What a line tells. */
export function namedLine(text: string): NamedLine {
  const line = lineOf(text);
  if (!EVALUATION.test(text.replace(RAY, '').replace(TIME, ''))) return line;
  return { ...line, numbers: line.numbers.map((one) => ({ ...one, name: inEvaluation(one.name) })) };
}

function lineOf(text: string): NamedLine {
  const bare = text.replace(RAY, '').replace(TIME, '').replace(PLACE, '').replace(CALL, '$1');
  const { head, epoch, rest } = headOf(
    withPoints(bare.replace(MARKUP, '').replace(WORDED, '|')).replace(THOUSANDS, ''),
  );
  const numbers: NamedNumber[] = [];
  const plain = withoutSeveral(rest.replace(AROUND, '')).replace(
    OF_ONE_NAME,
    (_, name: string, all: string) =>
      all
        .replace(/ \(/g, ', ')
        .replaceAll(')', '')
        .replace(/[a-z]+(?=\s*[=: ])/gi, `${name} $&`),
  );
  const without = plain.replace(LIST, (_, name: string, inside: string) => {
    const list = inside.split(',').flatMap((one) => numberOf(one) ?? []);
    const value = list.reduce((sum, one) => sum + one, 0) / list.length;
    numbers.push({ name: shortName(name), text: '', value, list });
    return '|';
  });
  const shares = without.replace(OF_ALL, (_, name: string, some: string, all: string) => {
    // A length stands before the most that it may be.
    const value = LENGTH.test(name) ? Number(some) : Number(some) / Number(all);
    numbers.push({ name: shortName(name), text: '', value });
    return '|';
  });
  const left = withoutCells(shares, numbers).replace(
    PAIR,
    (_, name: string, value: string, unit: string | undefined) => {
      add(numbers, name, value, unit);
      return '|';
    },
  );
  for (const segment of left.replace(REMARK, '').split(/[|,;\t]| - /))
    addAll(numbers, segment.replace(HALF_BRACKET, '').replace(MARK, '').trimEnd());
  return { ...(head && { head }), ...(epoch !== undefined && { epoch }), numbers };
}

/** A line with decimals behind commas, as some languages have them, gets points: `loss 0,0012`. */
function withPoints(text: string): string {
  const isSo = DECIMAL_COMMA.test(text) && !/\d\.\d/.test(text);
  return isSo ? text.replace(/(?<![\d,])(\d+),(\d+)(?![\d,])/g, '$1.$2') : text;
}

/** Gives each of several values under one name a name of its own; the last one, or the mean, keeps it. */
function withoutSeveral(text: string): string {
  const segments = text.replace(COURSE, '|$1_first: $2|$1: $3|').split('|');
  return segments.map(withoutWhich).join('|');
}

function withoutWhich(segment: string): string {
  const which = WHICH.exec(segment)?.[0].split('/');
  if (!which) return segment;
  const behind = which.map((word) => (/^(last|after|new|mean|avg)$/i.test(word) ? '' : `_${word}`));
  return segment.replace(SEVERAL, (all, name: string, text: string) => {
    const values = text.split('/');
    return values.length === which.length
      ? values.map((value, i) => `|${name}${behind[i]}: ${value}|`).join('')
      : all;
  });
}

/** Adds the numbers of a segment in which names and numbers alternate; behind two with a metric a remark may stand. */
function addAll(into: NamedNumber[], segment: string): void {
  const found: RegExpExecArray[] = [];
  let end = 0;
  while (end < segment.length) {
    NEXT.lastIndex = end;
    const next = NEXT.exec(segment);
    if (!next) break;
    found.push(next);
    end = NEXT.lastIndex;
  }
  const remark = segment.slice(end).trim();
  const isRow = found.length > 1 && found.some(([, name]) => isMetricName(shortName(name!)));
  if (remark !== '' && !(isRow && SHORT.test(remark))) return;
  if (found.length > 1 && [...found.map(([, name]) => name!), remark].some(isInSentence)) return;
  for (const [, name, text, unit] of found) add(into, name!, text!, unit);
}

function add(into: NamedNumber[], name: string, text: string, unit: string | undefined): void {
  const value = numberOf(text.replaceAll('_', ''));
  if (value === undefined) return;
  const scale = unit === '%' ? 0.01 : unit === 'ms' ? 0.001 : 1;
  into.push({ name: shortName(name), text: unit === '%' ? '' : text, value: value * scale });
}

/** Takes names and numbers out of cells beside each other: `│ ep_rew_mean │ 0.5 │`. */
function withoutCells(text: string, into: NamedNumber[]): string {
  const cells = text.split(/[|│┃]/);
  for (let i = 0; i + 1 < cells.length; i++) {
    const name = /^\s*([A-Za-z_][\w./@ -]{0,80}?(?:\([^()]{1,20}\))?)\s*$/.exec(cells[i]!)?.[1];
    const shown = cells[i + 1]!.replace(REMARK, '').replace(UNIT, '').trim();
    const value = name === undefined ? undefined : numberOf(shown);
    if (value === undefined) continue;
    into.push({ name: shortName(name!), text: shown, value });
    cells.splice(i, 2, '');
  }
  return cells.join('|');
}

/** The name before a number, without words of the sentence that it stands in. */
const shortName = (text: string) => text.trim().replace(OTHER_SCRIPT, '').replace(SENTENCE, '');

/** Words in another script before the Latin name: `损失 loss`. */
const OTHER_SCRIPT = /^(?:\S*[^\x20-\u024f]\S*\s+)+(?=[a-z])/i;

const SENTENCE = /^(?:(?:info|debug|warning|with|and|has|had|got|at|the|is|to|of|done|saved|finished)\s+)+/i;

/** Words that mark a sentence, not a row of names and numbers: `reward 3 of 5 samples`. */
const IN_SENTENCES = /\b(of|in|for|was|were|from|out|after)\b/i;
const isInSentence = (text: string) => IN_SENTENCES.test(text);
/** Matches a remark of up to three words: longer ones make a sentence of what stands before them. */
const SHORT = /^\S+(?:\s+\S+){0,2}$/;

/** Whether a number counts things, as in `batch 128 prompts`, and is not the number of a step, as in `step 64 loss 0.1`. */
function isCount(unit: string, behind: string): boolean {
  if (!/rollout|batch/i.test(unit)) return false;
  const words = WORDS.exec(behind)?.[1];
  return words !== undefined && !isMetricName(words);
}

/** The fraction that tells the step: behind a number, `reward 0.5 (16/32)`, it says what that is a share of. */
function fractionIn(text: string): RegExpExecArray | null {
  const fraction = FRACTION.exec(text);
  const before = text.slice(0, fraction?.index).replace(LOGGED_AT, '');
  return /\d/.test(before) || WITHIN_STEP.test(before) ? null : fraction;
}

/** The line's place in the run, and the line without it. */
function headOf(text: string): { head?: Head; epoch?: number; rest: string } {
  const heads: (Head & { rank: number })[] = [];
  const rest = text.replace(
    HEAD,
    (all, words: string, step: string, last: string | undefined, at: number) => {
      if (isCount(words, text.slice(at + all.length)) || (FRACTION.test(all) && WITHIN_STEP.test(words)))
        return all;
      const rank = UNITS.findIndex(([, pattern]) => pattern.test(words.trim()));
      const lastStep = last === undefined ? {} : { lastStep: Number(last) };
      heads.push({ rank, unit: UNITS[rank]![0], step: Number(step), ...lastStep });
      return '|';
    },
  );
  const epoch = heads.find(({ unit }) => unit === 'epoch')?.step;
  const surest = heads.sort((a, b) => a.rank - b.rank)[0];
  const fraction = surest && surest.unit !== 'epoch' ? null : fractionIn(rest);
  const head = fraction ? { unit: 'step', step: Number(fraction[1]), lastStep: Number(fraction[2]) } : surest;
  const found = { rest: fraction ? rest.replace(fraction[0], '|') : rest };
  return { ...found, ...(head && { head }), ...(epoch !== undefined && { epoch }) };
}
