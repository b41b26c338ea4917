/** The prompt of a problem: the built-in think/answer one, the question alone, or the user's own file byte for byte. */
import { UserError } from '../errors/user-error.js';
import { readWhole } from '../formats/read-file.js';
import { decodeUtf8 } from '../formats/utf8.js';
import type { Prompt } from '../text/message.js';

/** No model reads a longer prompt. */
const MAX_BYTES = 2 ** 24;

/** Where the question goes. */
const SLOT = '{question}';

const thinkAnswer = (task: string, result: string) =>
  `${task} Work it out step by step between <think> and </think>; then write ${result}, between <answer> and </answer>.

Problem: ${SLOT}`;

/** CS336's prompt of this name, in other words and the same shape. */
const R1_ZERO = `User asks Assistant a question, and Assistant answers it. Assistant first thinks it over and then tells User the answer. What it thinks stands in <think> </think> and the answer in <answer> </answer>, like this: <think> what it thinks </think> <answer> the answer </answer>.
User: ${SLOT}`;

const SOLUTION = '\n\nSolution: <think>';

/** The built-in prompts, with the text that opens the completion below them. */
const INSTRUCTIONS = {
  number: [thinkAnswer('Solve the problem.', 'the result, one number and nothing else'), SOLUTION],
  mathematics: [thinkAnswer('Solve the problem.', 'the result in LaTeX and nothing else'), SOLUTION],
  expression: [
    thinkAnswer(
      'Solve the problem with +, -, *, / and parentheses.',
      'the expression, such as (1 + 2) * 3, and nothing else',
    ),
    SOLUTION,
  ],
  r1_zero: [R1_ZERO, '\nAssistant: <think>'],
  none: [SLOT, ''],
} as const;

export type Instructions = keyof typeof INSTRUCTIONS;

/** A user's settings of the prompt. */
export interface PromptSettings {
  /** Path of the user's prompt, see {@link promptTemplate}. */
  prompt?: string | undefined;
  system?: string | undefined;
}

/** How a task asks its questions. */
export interface PromptTemplate {
  render(question: string): Prompt;
  /** Whether prompts end in `<think>`, so that completions begin inside it. */
  thinkOpened: boolean;
}

/**
 * How a text is asked. Without a system message it is plain text. With one it is a conversation for a chat template,
 * where an empty one leaves only the user's message.
 */
export function asPrompt(text: string, system: string | undefined): Prompt {
  if (system === undefined) return text;
  const first = system === '' ? [] : [{ role: 'system' as const, content: system }];
  return [...first, { role: 'user', content: text }];
}

/** A question with its instructions. As plain text it ends where the completion begins; a chat template opens it. */
export const appendInstructions = (
  question: string,
  instructions: string,
  { system }: { system?: string | undefined },
) => `${question}\n\n${instructions}${system === undefined ? '\n\n' : ''}`;

/**
 * Prompts as {@link asPrompt} makes them. As plain text, the built-in instructions open `<think>`.
 *
 * @param instructions - name of the built-in ones; `none` leaves the question alone
 * @param file - the user's prompt: UTF-8 text with `{question}` in it. Every byte of it counts: white space at its
 * end and a missing newline stay
 */
export function promptTemplate({
  instructions,
  file,
  system,
}: {
  instructions: Instructions;
  file?: string | undefined;
  system?: string | undefined;
}): PromptTemplate {
  const plain = system === undefined;
  const [text, opened] = INSTRUCTIONS[instructions];
  const builtIn = plain ? text + opened : text;
  const template = file === undefined ? builtIn : readPrompt(file);
  // Not String.replace, which would read $& and the like in a question.
  const fill = (question: string) => template.split(SLOT).join(question);
  return {
    render: (question) => asPrompt(fill(question), system),
    thinkOpened: plain && /<think>\s*$/.test(template),
  };
}

function readPrompt(file: string): string {
  const text = decodeUtf8(file, 'the prompt', readWhole(file, 'the prompt', MAX_BYTES));
  if (!text.includes(SLOT)) {
    throw new UserError(`prompt file ${file} has no ${SLOT}: every problem would have the same prompt`, {
      hint: `Write ${SLOT} where the question goes.`,
    });
  }
  return text;
}
