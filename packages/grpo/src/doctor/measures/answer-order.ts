/** Rewards that pay the answers of other prompts. */
import type { StepRecord } from '../../trace/index.js';
import { once, onceOfBoth } from '../once.js';
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
  order: string;
  reading: string;
  /** Whether the reward pays just these: one exception per 50. */
  fits: boolean;
  /** Natural logarithm of the number of ways to pay as many of those that are right by either. */
  choices: number;
}

/** A reward that pays some completions more than others. */
export interface PaidAnswers {
  reward: string;
  /** Whether it is off by its own prompts' answers for a tenth of the completions. */
  isOff: boolean;
  /** Computes how it lies to the answers in each order: every text is read once more for each. */
  orders(): AnswerOrder[];
}

/** The rewards of a step beside the answers of all prompts; undefined where not each of several prompts has one. */
export const paidAnswers = once((record: StepRecord): PaidAnswers[] | undefined => {
  const { prompts, completions, rewards } = record;
  const answers = prompts!.answers!;
  if (answers.length < 2 || answers.some((answer) => answer === null)) return undefined;
  const [texts, promptOf] = [completions!.texts!, completions!.prompt!];
  const [P, B] = [answers.length, texts.length];
  // Read for all rewards at once.
  const rightBy = onceOfBoth((isRight: (text: string, answer: string) => boolean, other: Pairing) =>
    texts.map((text, b) => isRight(text, goldIn(answers[other(b, promptOf[b]!, P)]!))),
  );
  return (rewards!.names ?? []).flatMap((reward, k): PaidAnswers[] => {
    const values = rewards!.values!.subarray(k * B, (k + 1) * B);
    const most = Math.max(...values);
    if (!(most > Math.min(...values))) return [];
    const off = (right: readonly boolean[]) =>
      right.filter((isRight, b) => isRight !== (values[b] === most)).length;
    const isOff = Object.values(READINGS).every((isRight) => off(rightBy(isRight, OWN)) >= B / 10);
    const orders = () =>
      Object.entries(READINGS).flatMap(([reading, isRight]) =>
        Object.entries(PAIRINGS).map(([order, pairing]): AnswerOrder => {
          const [own, right] = [rightBy(isRight, OWN), rightBy(isRight, pairing)];
          const paid = right.filter(Boolean).length;
          const either = right.filter((one, b) => one || own[b]).length;
          return { order, reading, fits: off(right) <= paid / 50, choices: logChoose(either, paid) };
        }),
      );
    return [{ reward, isOff, orders }];
  });
});

/** Natural logarithm of the number of ways to choose `k` of `n`. */
export function logChoose(n: number, k: number): number {
  let sum = 0;
  for (let i = 1; i <= k; i++) sum += Math.log((n - k + i) / i);
  return sum;
}
