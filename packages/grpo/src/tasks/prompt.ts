/** The prompt of a problem: the built-in think/answer one, the question alone, or the user's own file byte for byte. */
import { readFile } from 'node:fs/promises';
import { UserError } from '../config/errors.js';
import { fileError } from '../formats/file-error.js';
import type { Prompt } from '../text/message.js';

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
export async function promptTemplate({
  instructions,
  file,
  system,
}: {
  instructions: 'think/answer' | 'none';
  file?: string | undefined;
  system?: string | undefined;
}): Promise<PromptTemplate> {
  const plain = system === undefined;
  const thinkAnswer = plain ? `${INSTRUCTIONS}\n\nSolution: <think>` : INSTRUCTIONS;
  const builtIn = instructions === 'none' ? SLOT : thinkAnswer;
  const template = file === undefined ? builtIn : await readPrompt(file);
  // Not String.replace, which would read $& and the like in a question.
  const fill = (question: string) => template.split(SLOT).join(question);
  return {
    render: (question) => asPrompt(fill(question), system),
    thinkOpened: plain && /<think>\s*$/.test(template),
  };
}

async function readPrompt(file: string): Promise<string> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw fileError('read', file, error);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new UserError(`prompt file ${file} is not valid UTF-8`, { hint: 'Save it as UTF-8 text.', cause });
  }
  if (!text.includes(SLOT)) {
    throw new UserError(`prompt file ${file} has no ${SLOT}: every problem would have the same prompt`, {
      hint: `Write ${SLOT} where the question goes.`,
    });
  }
  return text;
}
