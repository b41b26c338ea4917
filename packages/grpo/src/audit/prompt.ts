import type { Config } from '../config/schema.js';
import { once } from '../doctor/once.js';
import { isObject } from '../formats/json.js';
import type { Model } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import type { Problem, Task } from '../tasks/task.js';
import type { ChatTemplate } from '../text/chat-template.js';
import { JinjaTemplate } from '../text/jinja/jinja-template.js';
import type { RenderedPrompt } from '../text/render.js';
import type { Comparison } from '../trace/index.js';
import type { AuditContext, Measured } from './context.js';
import { textPair } from './text-pair.js';
import { type Pair, worstOf } from './worst.js';

/** Row of the data → prompt text → ids, for every prompt of the step. */
export function auditPrompts({ trainer, batch }: AuditContext): Measured {
  const { model, task, config, ownStages } = trainer;
  const count = (quantity: string, found: number, plain: number) =>
    worstOf('run', quantity, [{ found, plain, bound: 0 }]);
  return {
    comparisons: [
      ...count('number of prompts', batch.prompts.length, config.rollout.prompts),
      ...count(
        'number of completions',
        batch.completions_B.length,
        config.rollout.prompts * config.rollout.group,
      ),
      // A stage of one's own renders as it likes.
      ...(ownStages?.includes('render')
        ? []
        : [
            ...compareQuestions(task, batch, config.task),
            ...compareLikeness(batch),
            ...compareRendered(model, batch),
          ]),
    ],
  };
}

/** The row's own question and the declared system message, for tasks that ask word for word. */
function compareQuestions(
  task: Task,
  { problems, prompts }: Batch,
  { questionKey, system = '' }: Config['task'],
): Comparison[] {
  const within = (quantity: string, partOf: (row: Record<string, unknown>) => string) =>
    worstOf(
      'prompt',
      quantity,
      problems.flatMap(({ row }, prompt): Pair[] => {
        if (!isObject(row) || (row.task ?? task.name) !== 'jsonl') return [];
        // Templates trim what they are given.
        const part = partOf(row).trim();
        const { text } = prompts[prompt]!;
        return [{ ...textPair(text.includes(part) ? part : text, part), prompt }];
      }),
    );
  return [
    ...within('question in the prompt', (row) => String(row[questionKey])),
    ...within('system message in the prompt', () => system),
  ];
}

/** Equal problems have the same ids, others have others. */
function compareLikeness({ problems, prompts }: Batch): Comparison[] {
  const asked = firstsOf(problems.map(askedBy));
  const ids = firstsOf(prompts.map((prompt) => prompt.ids.join(' ')));
  const named = (p: number) => `prompt ${p + 1}`;
  const pairs = prompts.map((_, prompt): Pair => {
    return { found: named(ids[prompt]!), plain: named(asked[prompt]!), bound: 0, prompt };
  });
  return worstOf('prompt', 'first prompt with the same ids', pairs);
}

/** The first place that has the same key, for each place. */
function firstsOf(keys: readonly string[]): number[] {
  const first = new Map<string, number>();
  return keys.map((key, i) => {
    if (!first.has(key)) first.set(key, i);
    return first.get(key)!;
  });
}

/** What a problem asks, but for what templates trim. */
const askedBy = ({ prompt }: Problem): string =>
  composed(
    typeof prompt === 'string'
      ? prompt
      : JSON.stringify(prompt.map((message) => ({ ...message, content: message.content.trim() }))),
  );

/** A tokenizer may compose characters; no other form is supported. */
const composed = (text: string) => text.normalize('NFC');

/** Tokenizers put a space in front of a text, and tokens take white space beside them; the ids tell it apart. */
const spelled = (text: string) => composed(text).replace(/\s+/g, '');

/** The text is the template's, with the BOS in front that the tokenizer adds; the ids are the text's, and decode to it. */
function compareRendered(model: Model, { problems, prompts, exchange }: Batch): Comparison[] {
  const { tokenizer } = model;
  const rendered = problems.map((problem) => plainPrompt(model, problem));
  const each = (quantity: string, pairOf: (prompt: RenderedPrompt, own: PlainPrompt) => Pair) =>
    worstOf(
      'prompt',
      quantity,
      // A template may tell the date, and another day's group be replayed.
      prompts.flatMap((prompt, p) =>
        exchange?.replayed.has(p) ? [] : [{ ...pairOf(prompt, rendered[p]!), prompt: p }],
      ),
    );
  return [
    ...each('text of the prompt', (prompt, { text }) => textPair(prompt.text, text)),
    ...each('text that the ids stand for', ({ ids }, { text }) =>
      textPair(spelled(tokenizer.decode(ids)), spelled(text)),
    ),
    ...each('ids of the prompt', ({ ids }, own) => textPair(ids.join(' '), own.ids().join(' '))),
  ];
}

/** A prompt by the plain path. */
interface PlainPrompt {
  text: string;
  ids(): (number | undefined)[];
}

/** The renderer of a template's source, without the code that renders for training: that may add to the text or cut it. */
const parsed = once(({ source }: ChatTemplate) => new JinjaTemplate(source));

/** What the model is asked: the template's text or the row's own, with the BOS in front that the tokenizer adds. */
export function plainPrompt(
  { tokenizer, template }: Pick<Model, 'tokenizer' | 'template'>,
  { prompt }: Problem,
): PlainPrompt {
  const { namedTokens, addsBos, bosId, bosToken = '' } = tokenizer;
  const variables = {
    messages: prompt,
    tools: null,
    documents: null,
    add_generation_prompt: true,
    ...namedTokens,
  };
  const body = typeof prompt === 'string' ? prompt : template ? parsed(template).render(variables) : '';
  const isPut = addsBos && !body.startsWith(bosToken);
  // Some tokenizers put a space in front of a text's beginning, which is not behind the BOS that they add themselves.
  return {
    text: isPut ? bosToken + body : body,
    ids: () => [...(isPut ? [bosId] : []), ...tokenizer.encode(body)],
  };
}
