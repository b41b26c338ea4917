/** The prompt of a problem: the built-in think/answer one, the question alone, or the user's own file byte for byte. */
import { UserError } from '../config/errors.js';
import { readWhole } from '../formats/read-file.js';
import { decodeUtf8 } from '../formats/utf8.js';
import type { Prompt } from '../text/message.js';

/** No model reads a longer prompt. */
const MAX_BYTES = 2 ** 24;

/** Where the question goes. */
const SLOT = '{question}';

const INSTRUCTIONS = `Solve the problem. Work it out step by step between <think> and </think>; then write the result, one number and nothing else, between <answer> and </answer>.

Problem: ${SLOT}`;

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

/**
 * Prompts as {@link asPrompt} makes them. As plain text, the built-in instructions open `<think>`.
 *
 * @param instructions - the built-in ones: for think/answer, or none, which leaves the question alone
 * @param file - the user's prompt: UTF-8 text with `{question}` in it. Every byte of it counts: white space at its
 * end and a missing newline stay
 */
export function promptTemplate({
  instructions,
  file,
  system,
}: {
  instructions: 'think/answer' | 'none';
  file?: string | undefined;
  system?: string | undefined;
}): PromptTemplate {
  const plain = system === undefined;
  const thinkAnswer = plain ? `${INSTRUCTIONS}\n\nSolution: <think>` : INSTRUCTIONS;
  const builtIn = instructions === 'none' ? SLOT : thinkAnswer;
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
