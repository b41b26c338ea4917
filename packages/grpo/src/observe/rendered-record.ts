import { UserError } from '../errors/user-error.js';
import { joinRows } from '../maths/lists.js';
import type { Model } from '../models/model.js';
import type { Problem } from '../tasks/task.js';
import type { Message, Prompt } from '../text/message.js';
import type { RenderedPrompt } from '../text/render.js';
import type { StepRecord } from '../trace/index.js';

/** Marks that no text has. */
const [ANSWER, QUESTION] = ['\u{f0000}', '\u{f0001}'];

type Renderer = Pick<Model, 'tokenizer' | 'template' | 'endIds'>;

/** The part of a step record that tells how prompts were rendered. */
export function renderedRecord(
  model: Renderer,
  problems: readonly Pick<Problem, 'prompt'>[],
  prompts: readonly RenderedPrompt[],
): Required<Pick<StepRecord, 'tokenizer' | 'prompts'>> {
  return {
    tokenizer: tokenizerOf(model, prompts[0]?.text ?? ''),
    prompts: {
      messages: problems.map(({ prompt }) => prompt),
      texts: prompts.map(({ text }) => text),
      ...aroundAnswer(model, problems[0]?.prompt),
      ids: joinRows(
        Int32Array,
        prompts.map(({ ids }) => ids),
      ),
      lengths: Int32Array.from(prompts, ({ ids }) => ids.length),
      spans: prompts.map(({ spans }) =>
        spans.map(({ kind, role, start, end }) => ({ kind, start, end, ...(role && { role }) })),
      ),
    },
  };
}

function tokenizerOf({ tokenizer, endIds }: Renderer, text: string): NonNullable<StepRecord['tokenizer']> {
  const { bosId, bosToken, padId, addsBos } = tokenizer;
  const expectedBos = bosToken !== undefined && (addsBos || text.startsWith(bosToken)) ? 1 : 0;
  return {
    vocabularySize: tokenizer.vocabSize,
    ...(bosId !== undefined && { bosId, expectedBos }),
    ...(padId !== undefined && { padId }),
    endIds: [...endIds],
    specialTokens: tokenizer.specialTokens,
  };
}

/** Renders an answer to see the template's text before and after it; nothing for plain text, and where it cannot be told. */
function aroundAnswer(
  { template, tokenizer }: Renderer,
  prompt: Prompt | undefined,
): Pick<NonNullable<StepRecord['prompts']>, 'assistantHeader' | 'afterAnswer'> {
  if (!template || typeof prompt !== 'object') return {};
  const render = (messages: readonly Message[]) =>
    template.render(messages, { addGenerationPrompt: false, namedTokens: tokenizer.namedTokens });
  const closed = render(prompt);
  const answered = [...prompt, { role: 'assistant', content: ANSWER }] as const;
  const [before, end] = render(answered).split(ANSWER);
  if (end === undefined || !before!.startsWith(closed)) return {};
  return {
    assistantHeader: before!.slice(closed.length),
    afterAnswer: afterAnswer(() => render([...answered, { role: 'user', content: QUESTION }])) ?? end,
  };
}

/** Returns the text between an answer and the next question; nothing where the template refuses a second one. */
function afterAnswer(render: () => string): string | undefined {
  try {
    return render().split(ANSWER)[1]?.split(QUESTION)[0];
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
