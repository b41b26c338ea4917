/** Cells of tables that people write: numbers among marks and remarks, ranges, shares, several values at once. */
import { isStep, numberOf } from '../rows/metric-row.js';

/** Marks and remarks around a number: `**7.16** ⚠️`, `~0.03`, `0.8028 (peak)`, `12,501*`. */
const MARKS = /[*`≈↑↓★☆]|(?<!\d)~|\uFE0F|\p{Extended_Pictographic}/gu;
const REMARK = /\s*\([^()]*\)$/;
/** A remark that the number is no mean: `9044 (max)`. */
const OF_EXTREME = /\((max|min)(?:imum)?\)$/i;
/** From one number to another, or between two. */
const RANGE = /^([-+]?[\d.]+)(?:\s?%)?\s*(→|->|–|-|~)\s*([-+]?[\d.]+)\s?([%kK]?)$/;
/** A share, or thousands: `12.5%`, `1.2k`. */
const OF_UNIT = /^([-+]?[\d.]+)\s?([%kK])$/;
/** From one step to a word for the last, or on: `600–end`, `600+`. */
const OPEN = /^(\d+)\s*(?:\+|(?:→|->|–|-|~)\s*[^\d\s]+)$/;
/** A number or a range among a few words: `spiked to 15-23`, `回升0.8-1.0`. Letters at a number are its unit: `3k`, `5分`. */
const AMONG_WORDS =
  /^(?:[\p{L}\s]*[^\p{ASCII}\d]|[\p{L}\s]*\s)?([-+]?[\d.]+(?:\s*(?:→|->|–|-|~)\s*[\d.]+)?\s?%?)(?:(?:\s|(?![万亿千百倍分秒时小天次个步年만천배초분])[^\p{ASCII}])[\p{L}\s]*)?$/u;
/** Some of all: `70 / 128`. */
const OF_ALL = /^(\d+)\s?\/\s?(\d+)$/;

/** The head of a column that names metrics. */
export const NAMES_HEAD = /^(?:metrics?|names?|keys?|quantity|tag|指标|指標|지표|항목)$/i;
/** The head of a column that has the value of a metric, where others count, or tell its extremes. */
const VALUE_HEAD = /^(?:values?|mean|avg|average|final|last|median|值|数值|均值|平均值?|最终值?|평균|값)$/i;

/** The place of the values in a table with a metric per line, by its heads; undefined where it is none, or none is told. */
export function valueColumn(heads: readonly string[]): number | undefined {
  const [first = '', ...others] = heads.map(withoutMarks);
  if (!NAMES_HEAD.test(first)) return undefined;
  const place = others.findIndex((head) => VALUE_HEAD.test(head));
  return place < 0 ? undefined : place + 1;
}

export const withoutMarks = (cell: string): string => cell.replace(MARKS, '').replace('−', '-').trim();
export const withoutRemark = (text: string): string => text.replace(REMARK, '');

/** Returns whether a column counts, so that `1/3` is the first of three and no share. */
const isPlace = (name: string) => isStep(name) || /^epochs?$/i.test(name);

/**
 * The number of a cell, whatever its author wrote around it: `12.5%` and `1 / 8` as a share, of a range its middle or its end.
 *
 * @param name - of the column
 */
export function plain(cell: string, name: string): string {
  if (numberOf(cell) !== undefined) return cell;
  const marked = withoutMarks(cell);
  const extreme = OF_EXTREME.exec(marked)?.[1];
  // Only a column of extremes has them as its own.
  if (extreme !== undefined && !new RegExp(extreme, 'i').test(name)) return marked;
  const bare = isPlace(name) ? marked.replace(/^(?:steps?|iters?|updates?)\s+(?=\d)/i, '') : marked;
  const open = isPlace(name) ? OPEN.exec(bare)?.[1] : undefined;
  // The span before it ends there.
  if (open !== undefined) return String(Number(open) + 1);
  const worded = isPlace(name) ? undefined : AMONG_WORDS.exec(bare)?.[1];
  for (const text of [bare, withoutRemark(bare), bare.replace(/\+$/, ''), ...(worded ? [worded] : [])]) {
    const [, number, ofOne] = OF_UNIT.exec(text) ?? [];
    if (numberOf(number) !== undefined) return inUnit(numberOf(number)!, ofOne);
    if (numberOf(text) !== undefined) return text;
    const [, some, all] = (!isPlace(name) && OF_ALL.exec(text)) || [];
    if (Number(some) <= Number(all) && Number(all) > 0) return String(Number(some) / Number(all));
    const [, from, way, to, unit] = RANGE.exec(text) ?? [];
    const [first, last] = [numberOf(from), numberOf(to)];
    if (first === undefined || last === undefined) continue;
    const value = isPlace(name) || way === '→' || way === '->' ? last : (first + last) / 2;
    return inUnit(value, unit);
  }
  return bare;
}

const inUnit = (value: number, unit: string | undefined) =>
  String(unit === '%' ? value / 100 : unit ? value * 1000 : value);

const BETWEEN = ' / ';

/** Returns the names and cells of a column: of several where `a / b` stands above `0.1 / 0.2`. */
export function partsOf(name: string, cell: string): (readonly [name: string, cell: string])[] {
  if (!name.includes(BETWEEN)) return [[name, cell]];
  const names = name.split(BETWEEN);
  const cells = withoutMarks(cell).split(BETWEEN);
  if (names.length !== cells.length) return [[name, cell]];
  // The first name of `heldout d4 / d6 / d8` has the words that all share.
  const isNumbered = names.slice(1).every((one) => /^\w*\d$/.test(one));
  const shared = isNumbered ? /^.*\s/.exec(names[0]!)?.[0] : undefined;
  return names.map((one, i) => [i === 0 ? one : `${shared ?? ''}${one}`, cells[i]!]);
}

/** Returns whether a cell is of several numbers: `0.31 / 0.52`. */
export const isOfSeveral = (cell: string): boolean =>
  /^[-+.\d]+%?( \/ [-+.\d]+%?)+$/.test(withoutMarks(cell));
