/** Tables that lie on their side: a metric in each row, a step in each column, or a part of the run such as its start. */
import { isStep, numberOf } from '../rows/metric-row.js';
import { withoutMarks, withoutRemark } from './cells.js';

/** What may stand before the number of a step. */
const WORD = /^(?:steps?|iter|iteration|update|rollout|@)\s*#?\s*/i;
/** What stands above names of metrics: bare numbers beside it are steps. */
const NAMES = /^(?:metrics?|names?|keys?|steps?|iter|iteration|指标|指標|지표|항목)$/i;
/** Heads of columns that are parts of one run, in their order: `First 100`, `mid`, `最近`. */
export const PART =
  /(?:^|[|→>]\s*)(?:start|begin(?:ning)?|first|early|initial|mid(?:dle)?|end|final|last|late|latest|recent|초반|중반|후반|최근|처음|마지막|开始|初始|初期|前期|前段|中期|中段|后期|后段|末期?|最终|最近|结束)(?![a-z])/i;
const ARROW = /\s*(?:→|->)\s*/;
const NUMBER = /[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?/i;
/** A cell that has a number. */
const HAS_NUMBER = /\d|\b(?:nan|inf)/i;

/** Returns the text of a step, with its word: `step 3`, `@50`, `middle (step 100)`, `99 (end)`. */
function stepText(cell: string): string {
  const bare = withoutMarks(cell);
  const remark = /\(([^()]+)\)$/.exec(bare)?.[1] ?? '';
  return WORD.test(remark) ? remark : withoutRemark(bare);
}

const stepOf = (cell: string) => {
  const step = numberOf(stepText(cell).replace(WORD, ''));
  return Number.isInteger(step) && step! >= 0 ? step : undefined;
};

interface Column {
  /** Missing of a part of the run. */
  step?: number;
  column: number;
  cells: string[];
  /** The number of a part, where one cell has several: `0.45 → 0.9`. */
  ofCell?(cell: string): string;
}

/** The columns that are parts of a run, or the parts that arrows stand between in the cells of one column. */
function partsOf(header: readonly string[]): Column[] {
  const own = header.flatMap((cell, column): Column[] => {
    const isPart = column > 0 && PART.test(withoutMarks(cell)) && !ARROW.test(cell);
    return isPart ? [{ column, cells: [] }] : [];
  });
  if (own.length > 1) return own;
  const column = header.findIndex((cell, i) => i > 0 && ARROW.test(cell) && PART.test(withoutMarks(cell)));
  if (column < 0) return [];
  const count = header[column]!.split(ARROW).length;
  return Array.from({ length: count }, (_, part) => ({
    column,
    cells: [],
    ofCell(cell) {
      const parts = withoutMarks(cell).split(ARROW);
      return (parts.length === count && NUMBER.exec(parts[part]!)?.[0]) || '';
    },
  }));
}

export class Transposed {
  /** Names of the metrics and the lines that they stand in. */
  readonly names: { name: string; line: number }[] = [];
  /** The steps, the columns that they stand in, and the cells below them. */
  readonly steps: readonly Column[];

  private constructor(
    private readonly header: readonly string[],
    readonly line: number,
  ) {
    const numbered = header.flatMap((cell, column): Column[] => {
      const step = column > 0 ? stepOf(cell) : undefined;
      return step === undefined ? [] : [{ step, column, cells: [] }];
    });
    this.steps = numbered.length > 0 ? numbered : partsOf(header);
  }

  /** Returns the table below a header; undefined where the cells do not name two steps that rise. */
  static below(header: readonly string[], line: number): Transposed | undefined {
    const [first, ...others] = header;
    if (first === undefined || stepOf(first) !== undefined) return undefined;
    const isTold = NAMES.test(withoutMarks(first)) || others.some((cell) => WORD.test(stepText(cell)));
    if (!isTold) return undefined;
    const table = new Transposed(header, line);
    const isRising = table.steps.every(({ step }, i) => i === 0 || !(step! <= table.steps[i - 1]!.step!));
    return table.steps.length > 1 && isRising ? table : undefined;
  }

  /** Takes a row; false where the cells are none of the table. */
  take(cells: readonly string[], line: number): boolean {
    const name = withoutRemark(withoutMarks(cells[0] ?? ''));
    if (cells.length !== this.header.length || !/\p{L}/u.test(name) || isStep(name)) return false;
    const below = this.steps.map(({ column }) => cells[column]!);
    // Words alone are the header of another table.
    if (!below.some((cell) => HAS_NUMBER.test(cell))) return below.every((cell) => !/\p{L}{3}/u.test(cell));
    this.names.push({ name, line });
    for (const step of this.steps) {
      const cell = step.ofCell ? step.ofCell(cells[step.column]!) : cells[step.column]!;
      step.cells.push(HAS_NUMBER.test(cell) ? cell : '');
    }
    return true;
  }
}
