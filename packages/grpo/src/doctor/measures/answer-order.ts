/** Rewards that pay the answers of other prompts. */
import type { Inputs } from '../inputs.js';
import { onceOfBoth } from '../once.js';
import { contains, endsIn, goldIn } from './right-answers.js';

/** The prompt whose answer a completion is graded against. */
type Pairing = (completion: number, prompt: number, prompts: number) => number;

const OWN: Pairing = (_, p) => p;

/** Those that it may be graded against by mistake. */
const PAIRINGS: Readonly<Record<string, Pairing>> = {
  'taken in turn': (b, _, P) => b % P,
  'of the next prompt': (_, p, P) => (p + 1) % P,
  'of the prompt before': (_, p, P) => (p + P - 1) % P,
  'in reverse': (_, p, P) => P - 1 - p,
};

/** Ways to read an answer out of a text. */
const READINGS = { 'end in': endsIn, contain: contains } as const;

/** How the values of a reward lie to the answers of other prompts. */
export interface AnswerOrder {
  reward: string;
  order: string;
  reading: string;
  /** Whether the reward pays just these: one exception per 50. */
  fits: boolean;
  /** Whether it is off by its own prompts' answers for a tenth of the completions. */
  isOff: boolean;
  /** Natural logarithm of the number of ways to pay as many of those that are right by either. */
  choices: number;
}

type Given = Pick<Inputs, 'texts' | 'promptOf' | 'rewardNames' | 'rewardValues'> & {
  answers: readonly string[];
};

/** All orders of a step, of each reward that pays some completions more than others, and by each way to read an answer. */
export function answerOrders({ answers, texts, promptOf, rewardNames, rewardValues }: Given): AnswerOrder[] {
  const [P, B] = [answers.length, texts.length];
  // Read for all rewards at once.
  const rightBy = onceOfBoth((isRight: (text: string, answer: string) => boolean, other: Pairing) =>
    texts.map((text, b) => isRight(text, goldIn(answers[other(b, promptOf[b]!, P)]!))),
  );
  return rewardNames.flatMap((reward, k) => {
    const values = rewardValues.subarray(k * B, (k + 1) * B);
    const most = Math.max(...values);
    if (!(most > Math.min(...values))) return [];
    const off = (right: readonly boolean[]) =>
      right.filter((isRight, b) => isRight !== (values[b] === most)).length;
    const isOff = Object.values(READINGS).every((isRight) => off(rightBy(isRight, OWN)) >= B / 10);
    return Object.entries(READINGS).flatMap(([reading, isRight]) => {
      const own = rightBy(isRight, OWN);
      return Object.entries(PAIRINGS).map(([order, pairing]): AnswerOrder => {
        const right = rightBy(isRight, pairing);
        const paid = right.filter(Boolean).length;
        const either = right.filter((one, b) => one || own[b]).length;
        const fits = off(right) <= paid / 50;
        return { reward, order, reading, fits, isOff, choices: logChoose(either, paid) };
      });
    });
  });
}

/** Natural logarithm of the number of ways to choose `k` of `n`. */
function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}
