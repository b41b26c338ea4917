import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import { examplesOf } from '../imitation/examples.js';
import { countLeading, isSame } from '../maths/lists.js';
import { asPrompt } from '../tasks/prompt.js';
import { renderProblems } from '../tasks/render-problems.js';
import type { Problem } from '../tasks/task.js';
import type { Prompt } from '../text/message.js';
import type { RenderedPrompt } from '../text/render.js';
import type { Renderer } from './check.js';
import { type SystemTurn, systemTurn, type TemplateShape } from './template-shape.js';

/** A prompt under a name, for the table. */
export interface NamedPrompt {
  name: string;
  prompt: Prompt;
  /** What SFT imitates after it; a sentence of ours when left out. */
  demonstration?: string | undefined;
  /** Its row of the data. */
  row?: unknown;
}

/** A prompt as the paths of a run make ids of it. */
export interface TemplateRow {
  name: string;
  prompt: Prompt;
  text: string;
  ids: readonly number[];
  /** BOS tokens in front. */
  bos: number;
  /** Whether the text ends in the template's assistant header; null without a template. */
  header: boolean | null;
  system: SystemTurn;
  /** Lines that another day changes. */
  dated: readonly string[];
  /** Whether the text of the ids has the same ids. */
  roundTrip: boolean;
  /** Ids before the answer in SFT's example of this prompt. */
  sftIds: readonly number[];
  /** Ids that evaluation asks with. */
  evaluationIds: readonly number[];
}

/** A prompt that the model's template cannot render, and why. */
export interface RefusedRow {
  name: string;
  problem: string;
}

const SYSTEMS = ['You are a helpful assistant.', 'Answer in one short sentence.', ''];
const QUESTION = 'Hello, how are you?';
/** Another length: without a template nothing else makes prompts of several. */
const LONGER = 'What is the capital of France, and how many people live there?';
const ANSWER = 'I am fine.';

/** The table's prompts: each question with system messages, with an empty one, without one, and as plain text. */
export function matrixOf(given: readonly string[] | undefined, hasTemplate: boolean): NamedPrompt[] {
  const questions = given ?? (hasTemplate ? [QUESTION] : [QUESTION, LONGER]);
  return questions.flatMap((question, q) => {
    const of = (name: string) => (questions.length > 1 ? `${name} · prompt ${q + 1}` : name);
    const user = { role: 'user' as const, content: question };
    const plain = { name: of('plain text'), prompt: question };
    if (!hasTemplate) return [plain];
    return [
      ...SYSTEMS.map((content) => ({
        name: of(`system: ${excerpt(content)}`),
        prompt: [{ role: 'system' as const, content }, user],
      })),
      { name: of('no system'), prompt: asPrompt(question, '') },
      plain,
    ];
  });
}

/** How the table's prompts are rendered: by the code of each path. */
export interface RowOptions {
  shape: TemplateShape | undefined;
  /** Training's own, which a user may replace. */
  render?: ((problem: Problem) => RenderedPrompt) | undefined;
}

/** Another day, month, year and time. */
const LATER = ((400 * 24 + 31 * 24 + 7) * 60 + 13) * 60_000;

/** Renders each prompt as training does, as SFT does, and as training would on another day. */
export function templateRow(
  model: Renderer,
  named: NamedPrompt,
  { shape, render }: RowOptions,
): TemplateRow | RefusedRow {
  const { name, prompt, demonstration = ANSWER, row } = named;
  const problem = { prompt, row, demonstration };
  try {
    const [evaluated] = renderProblems(model, [problem]) as [RenderedPrompt];
    const { text, ids } = render?.(problem) ?? evaluated;
    const now = new Date(Date.now() + LATER);
    const [changed] = renderProblems(model, [problem], { now }) as [RenderedPrompt];
    const otherLines = new Set(changed.text.split('\n'));
    const [example] = examplesOf(model, { name, train: [problem] });
    const again = model.tokenizer.encode(model.tokenizer.decode(ids));
    const isConversation = typeof prompt !== 'string';
    return {
      name,
      prompt,
      text,
      ids,
      bos: countLeading(ids, model.tokenizer.bosId),
      header: model.template ? isOpened(shape, text) : null,
      system: isConversation && shape ? systemTurn(shape, text, prompt) : '–',
      dated: evaluated.text.split('\n').filter((line) => !otherLines.has(line)),
      roundTrip: isSame(again, ids),
      sftIds: example!.prompt,
      evaluationIds: evaluated.ids,
    };
  } catch (error) {
    if (error instanceof UserError) return { name, problem: error.message };
    throw error;
  }
}

const isOpened = (shape: TemplateShape | undefined, text: string) =>
  shape !== undefined && shape.header.trim() !== '' && text.endsWith(shape.header);
