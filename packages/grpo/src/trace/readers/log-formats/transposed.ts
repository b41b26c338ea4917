/** Tables that lie on their side: a metric in each row, a step in each column. */
import { isStep, numberOf } from '../rows/metric-row.js';
import { withoutMarks, withoutRemark } from './cells.js';

/** What may stand before the number of a step. */
const WORD = /^(?:steps?|iter|iteration|update|rollout|@)\s*#?\s*/i;
/** What stands above names of metrics: bare numbers beside it are steps. */
const NAMES = /^(?:metrics?|names?|keys?|steps?|iter|iteration|指标|指標|지표|항목)$/i;
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

export class Transposed {
  /** Names of the metrics and the lines that they stand in. */
  readonly names: { name: string; line: number }[] = [];
  /** The steps, the columns that they stand in, and the cells below them. */
  readonly steps: readonly { step: number; column: number; cells: string[] }[];

  private constructor(
    private readonly header: readonly string[],
    readonly line: number,
  ) {
    this.steps = header.flatMap((cell, column) => {
      const step = column > 0 ? stepOf(cell) : undefined;
      return step === undefined ? [] : [{ step, column, cells: [] }];
    });
  }

  /** Returns the table below a header; undefined where the cells do not name two steps that rise. */
  static below(header: readonly string[], line: number): Transposed | undefined {
    const [first, ...others] = header;
    if (first === undefined || stepOf(first) !== undefined) return undefined;
    const isTold = NAMES.test(withoutMarks(first)) || others.some((cell) => WORD.test(stepText(cell)));
    if (!isTold) return undefined;
    const table = new Transposed(header, line);
    const isRising = table.steps.every(({ step }, i) => i === 0 || step > table.steps[i - 1]!.step);
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
      const cell = cells[step.column]!;
      step.cells.push(HAS_NUMBER.test(cell) ? cell : '');
    }
    return true;
  }
}
