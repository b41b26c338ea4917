/** Reads rows of a file of problems: the question with its answer, or the problem with the row. */
import type { Config } from '../../config/schema.js';
import { excerpt } from '../../errors/printable.js';
import { describeJson } from '../../formats/json.js';
import type { Row } from '../../formats/read-rows.js';
import { finalAnswer } from '../../rewards/final-answer.js';
import { MAX_LENGTH } from '../../rewards/math/work.js';
import { parseDecimal } from '../../rewards/numeric.js';
import { keysOf } from '../row-fields.js';

/** How rows are read. */
export interface RowKeys {
  questionKey: string;
  answerKey: string;
  grading: Config['task']['grading'];
}

/** A row that can be asked. */
export interface Item {
  question: string;
  /** The right answer as text; without grading there is none. */
  gold?: string;
  /** How it is worked out, as the file has it; without grading, the answer. */
  worked?: string;
  row: Row;
}

/** Where MATH has its worked solutions, and `grpo data convert --final-answer` leaves them. */
const SOLUTION = 'solution';

/** A row that cannot be used, and why. */
export interface RowProblem {
  kind: 'no question' | 'no answer' | 'not text' | 'cannot be graded';
  /** The problem as a sentence, with the key, the value that was found, and the remedy. */
  problem: string;
}

/** Reads a row. */
export function itemOf(row: Row, { questionKey, answerKey, grading }: RowKeys): Item | RowProblem {
  const question = textOf(row, questionKey, 'questionKey');
  if (typeof question !== 'string') return question;
  if (question.trim() === '') return { kind: 'no question', problem: `${questionKey} is empty` };
  if (grading === 'none') {
    const answer = fieldOf(row, answerKey);
    return { question, row, ...(typeof answer === 'string' && { worked: answer }) };
  }
  const key = answerPlace(row, answerKey);
  const text = textOf(row, key, 'answerKey');
  if (typeof text !== 'string') return text;
  const gold = goldIn(text);
  if (gold === '')
    return {
      kind: 'no answer',
      problem: `${key} is empty, or what stands after its last #### or in its last box`,
    };
  const worked = gold === text.trim() ? fieldOf(row, SOLUTION) : text;
  const item = { question, gold, row, ...(typeof worked === 'string' && { worked }) };
  const where = text.includes('####') ? 'what follows #### in ' : '';
  if (grading !== 'numeric')
    return gold.length <= MAX_LENGTH
      ? item
      : {
          kind: 'cannot be graded',
          problem: `${where}${key} has ${gold.length} characters, more than the ${MAX_LENGTH} of an answer that is compared`,
        };
  if (parseDecimal(gold) !== null) return item;
  const hint =
    'task.grading=math compares other answers, task.grading=none takes any, or none, with rewards of your own';
  return {
    kind: 'cannot be graded',
    problem: `${where}${key} must be a number, found ${excerpt(gold)}; ${hint}`,
  };
}

/**
 * The right answer of a row that {@link itemOf} took: the text after `####` or in a box under the key, or all text
 * there; in a row without the key, the answer of its worked `solution`.
 */
export function goldOf(row: Row, answerKey: string): string {
  return goldIn(String(row[answerPlace(row, answerKey)]));
}

/** Empty where a box is never closed, or nothing follows `####`: the text around it is no answer. */
const goldIn = (text: string): string => finalAnswer(text) ?? (/####|\\boxed/.test(text) ? '' : text.trim());

const fieldOf = (row: Row, key: string): unknown => (Object.hasOwn(row, key) ? row[key] : undefined);

/** The key that holds a row's answer. */
function answerPlace(row: Row, answerKey: string): string {
  const solution = fieldOf(row, SOLUTION);
  const stands =
    (fieldOf(row, answerKey) ?? undefined) === undefined &&
    typeof solution === 'string' &&
    finalAnswer(solution);
  return stands ? SOLUTION : answerKey;
}

/** A row's text under a key; numbers count as text. */
function textOf(row: Row, key: string, setting: 'questionKey' | 'answerKey'): string | RowProblem {
  const value = fieldOf(row, key);
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  if (value !== undefined) {
    return { kind: 'not text', problem: `${key} must be text or a number, found ${describeJson(value)}` };
  }
  const ungraded = setting === 'answerKey' ? ', or task.grading=none with rewards of your own' : '';
  const advice = `set task.${setting} to the key that holds it${ungraded}`;
  return {
    kind: setting === 'questionKey' ? 'no question' : 'no answer',
    problem: `no key ${excerpt(key)}; the row has ${keysOf(row)}; ${advice}`,
  };
}
