/**
 * Generated arithmetic: `27+45=` asks, `<think>7+5+0=12;2+4+1=07</think> <answer>72</answer>` answers. Nothing is
 * downloaded, every answer is graded exactly, and the difficulty is a handful of numbers.
 */
import { UserError } from '../../errors/user-error.js';
import { uniform } from '../../maths/random.js';
import { gradeNumeric } from '../../rewards/numeric.js';
import type { Problem, Task } from '../task.js';
import { THINK_ANSWER_STOP, thinkAnswer, thinkAnswerGrading } from '../think-answer-grading.js';
import { type Forgets, workColumns } from './columns.js';

/** An operator of the problem family. */
export type Operator = '+' | '-';

/** A family of problems: `operands` whole numbers from `min` to `max`, joined by any of `operators`. */
export interface ArithmeticOptions {
  /** Draws the training problems and the slips; the held-out problems are the same for every seed. */
  seed: number;
  trainSize: number;
  evalSize: number;
  operands: number;
  operators: readonly Operator[];
  min: number;
  max: number;
  /** Fraction of the carries that demonstrations forget, for a careless teacher: 0 to 1. */
  slips: number;
}

/** Two numbers of two digits, shown by a careful teacher. */
export const ARITHMETIC_DEFAULTS: ArithmeticOptions = {
  seed: 0,
  trainSize: 6000,
  evalSize: 200,
  operands: 2,
  operators: ['+'],
  min: 10,
  max: 99,
  slips: 0,
};

/** The columns of a problem's row. */
export interface ArithmeticRow {
  /** `27+45` */
  question: string;
  /** `72` */
  answer: string;
}

/** Keys of the random streams: of the held-out problems, the training problems and the slips. */
const EVAL = 0;
const TRAIN = 1;
const SLIP = 2;

/** The held-out problems do not follow the seed, or one run's could be trained on in another with its model. */
const EVAL_SEED = 0x5eed;

/**
 * Makes the task. No problem occurs twice, and none of the held-out ones is trained on. Rows are
 * {@link ArithmeticRow}s; prompts are plain strings.
 *
 * @throws UserError when the family has too few problems, or an option is out of range
 */
export function arithmeticTask(options: Partial<ArithmeticOptions> = {}): Task<ArithmeticRow> {
  const family = { ...ARITHMETIC_DEFAULTS, ...options };
  checkOptions(family);
  const used = new Set<string>();
  const held = draw(family, family.evalSize, EVAL_SEED, EVAL, used);
  const trained = draw(family, family.trainSize, family.seed, TRAIN, used);
  const format = { thinkOpened: false };
  return {
    name: 'arithmetic',
    train: trained.map((expression, i) =>
      problem(expression, (step, column) => uniform(family.seed, SLIP, i, step, column) < family.slips),
    ),
    eval: held.map((expression) => problem(expression)),
    ...thinkAnswerGrading({
      ...format,
      grade: (answer, row: ArithmeticRow) => gradeNumeric(answer, row.answer),
    }),
    // Demonstrations have slips.
    canaries: ({ row }) => ({ gold: thinkAnswer('', row.answer, format) }),
    stop: [THINK_ANSWER_STOP],
  };

  function problem({ question, terms }: Expression, forgets?: Forgets): Problem<ArithmeticRow> {
    const answer = String(terms.reduce((sum, term) => sum + term, 0));
    const row: ArithmeticRow = { question, answer };
    return {
      prompt: `${question}=`,
      row,
      // A run reads few of the thousands of demonstrations.
      get demonstration() {
        const { work, result } = workColumns(terms, forgets);
        return thinkAnswer(work, String(result), format);
      },
    };
  }
}

interface Expression {
  question: string;
  /** Operands, whose sum is the answer: a subtracted one is negative. */
  terms: number[];
}

/** `count` expressions that are not in `used` yet, and puts them there. */
function draw(family: ArithmeticOptions, count: number, seed: number, stream: number, used: Set<string>) {
  const { operands, operators, min, max } = family;
  const drawn: Expression[] = [];
  for (let attempt = 0; drawn.length < count; attempt++) {
    const random = (key: number) => uniform(seed, stream, attempt, key);
    let question = '';
    const terms: number[] = [];
    for (let k = 0; k < operands; k++) {
      const operand = min + Math.floor(random(2 * k) * (max - min + 1));
      const operator = k === 0 ? '' : operators[Math.floor(random(2 * k + 1) * operators.length)]!;
      question += operator + operand;
      terms.push(operator === '-' ? -operand : operand);
    }
    if (used.has(question)) continue;
    used.add(question);
    drawn.push({ question, terms });
  }
  return drawn;
}

function checkOptions({
  trainSize,
  evalSize,
  operands,
  operators,
  min,
  max,
  slips,
}: ArithmeticOptions): void {
  const whole = { trainSize, evalSize, operands, min, max };
  for (const [name, value] of Object.entries(whole)) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new UserError(`arithmetic ${name} must be a whole number >= 0, found ${value}`);
    }
  }
  if (operands < 2) throw new UserError(`arithmetic operands must be at least 2, found ${operands}`);
  if (operators.length === 0) throw new UserError('arithmetic operators must name at least one of + and -');
  if (max < min) throw new UserError(`arithmetic max (${max}) must not be below min (${min})`);
  if (!(slips >= 0 && slips <= 1)) {
    throw new UserError(`arithmetic slips must be between 0 and 1, found ${slips}`);
  }
  const size = (max - min + 1) ** operands * new Set(operators).size ** (operands - 1);
  if (trainSize + evalSize > size) {
    throw new UserError(
      `arithmetic has only ${size} different problems from ${min} to ${max}, ${trainSize} to train on and ${evalSize} held out were asked for`,
      { hint: 'Ask for fewer, or raise max.' },
    );
  }
}
