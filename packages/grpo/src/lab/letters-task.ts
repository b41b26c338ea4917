/** The task of the lab: put letters in order. Prompts and answers differ in length, and rewards have many levels. */
import { uniform } from '../maths/random.js';
import { defineTask } from '../tasks/define.js';
import type { Problem, Task } from '../tasks/task.js';

const ALPHABET = 'abcdefgh';

export interface LettersRow {
  question: string;
  /** As a right completion says it, full stop included. */
  answer: string;
  kind: 'short' | 'long';
}

/** Which letters are asked, and how completions are paid. */
export interface LettersOptions {
  /** Letters of each problem, in turn. */
  lengths?: readonly number[];
  /** Before every question. */
  system?: string;
  /** Strings that end a completion. */
  stop?: readonly string[];
  /** In place of the standard rewards. */
  rewards?: Parameters<typeof defineTask<LettersRow>>[0]['rewards'];
  count?: number;
}

/** Share of the places that have the right letter. */
export const rightPlaces = (completion: string, { answer }: LettersRow): number =>
  [...answer].filter((letter, i) => completion[i] === letter).length / answer.length;

const STANDARD = {
  right: rightPlaces,
  /** How near the length is, from 0 to 1. */
  length: {
    each: (completion: string, { answer }: LettersRow) =>
      Math.max(0, 1 - Math.abs(completion.length - answer.length) / answer.length),
    weight: 0.5,
  },
};

/** Problems such as `dabc`, whose answer is `abcd.`, asked in a conversation. */
export function lettersTask(options: LettersOptions = {}): Task<LettersRow> {
  const { lengths = [2, 5, 3, 6, 4, 8], system, stop, rewards = STANDARD, count = 240 } = options;
  const task = defineTask<LettersRow>({
    name: 'letters',
    rows: [...rows(count, lengths)],
    prompt: ({ question }) => [
      ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
      { role: 'user' as const, content: question },
    ],
    rewards,
    isCorrect: (completion, { answer }) => completion === answer,
    demonstration: ({ answer }) => answer,
    ...(stop && { stop }),
    evalSize: 1,
  });
  const reversed = (answer: string) => `${[...answer.slice(0, -1)].reverse().join('')}.`;
  return { ...task, canaries: ({ row: { answer } }) => ({ options: `${reversed(answer)} ${answer} h.` }) };
}

function* rows(count: number, lengths: readonly number[]): Generator<LettersRow> {
  for (let i = 0; i < count; i++) {
    const letters = Array.from(
      { length: lengths[i % lengths.length]! },
      (_, k) => ALPHABET[Math.floor(uniform(7, i, k) * ALPHABET.length)]!,
    );
    yield {
      question: letters.join(''),
      answer: `${[...letters].sort().join('')}.`,
      kind: letters.length < 4 ? 'short' : 'long',
    };
  }
}

/** What a problem of this task was made from. */
export const rowOf = (problem: Problem): LettersRow => problem.row as LettersRow;
