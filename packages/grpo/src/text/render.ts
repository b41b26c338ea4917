/**
 * The one way from a prompt to token ids. SFT, training, evaluation and generation all come through here, so that
 * a model is never asked in another form than it was trained on.
 */
import { UserError } from '../errors/user-error.js';
import type { ChatTemplate, TemplateOptions } from './chat-template.js';
import type { Message, Prompt } from './message.js';
import { contentRanges, type Span, tokenRanges } from './spans.js';
import type { Tokenizer } from './tokenizer.js';

/** A prompt as the model sees it. */
export interface RenderedPrompt {
  /**
   * The whole text, a BOS in front included. `ids` are the BOS and `tokenizer.encode` of the rest: a tokenizer may put a space
   * in front of a text, and none behind a BOS that is spelled.
   */
  text: string;
  ids: number[];
  /** `prompt` over all ids; for conversations also `message` and `generation`, where they can be told exactly. */
  spans: Span[];
  /**
   * Whether the template opened the assistant's turn: false when it renders the same text without being asked to.
   * Absent for a plain-text prompt.
   */
  generationPrompt?: boolean;
}

/** A prompt and its answer, to be imitated. */
export interface RenderedExample {
  ids: number[];
  /** The prompt's spans, then `completion`, which is trained on: the end token belongs to it. */
  spans: Span[];
}

/**
 * Renders a prompt. A conversation goes through the template, with the assistant's turn opened; plain text goes as
 * it is. Where the tokenizer adds a BOS to plain text, the ids begin with one, and never with a second one.
 * @throws UserError for a conversation without a template, or a prompt without any token.
 */
export function renderPrompt(
  tokenizer: Tokenizer,
  template: ChatTemplate | undefined,
  prompt: Prompt,
  options: TemplateOptions = {},
): RenderedPrompt {
  if (typeof prompt === 'string') {
    const { text, ids } = renderIds(tokenizer, template, prompt);
    return { text, ids, spans: [{ kind: 'prompt', start: 0, end: ids.length }] };
  }
  const known = requireTemplate(template);
  const render = (messages: readonly Message[], addGenerationPrompt: boolean) =>
    known.render(messages, { ...options, addGenerationPrompt, namedTokens: tokenizer.namedTokens });
  const body = render(prompt, true);
  const closed = render(prompt, false);
  const { text, ids } = withBos(tokenizer, body);
  const spans: Span[] = [{ kind: 'prompt', start: 0, end: ids.length }];

  const toTokens = tokenRanges(tokenizer, text, ids);
  if (toTokens) {
    const added = text.length - body.length;
    for (const [index, { start, end }] of contentRanges(body, prompt, (messages) => render(messages, true))) {
      const tokens = toTokens({ start: start + added, end: end + added });
      spans.push({ kind: 'message', role: prompt[index]!.role, index, ...tokens });
    }
    if (body.length > closed.length && body.startsWith(closed)) {
      const tokens = toTokens({ start: closed.length + added, end: text.length });
      spans.push({ kind: 'generation', role: 'assistant', ...tokens });
    }
  }
  return { text, ids, spans, generationPrompt: body !== closed };
}

/**
 * The text and the ids of {@link renderPrompt} alone. Spans cost a rendering for each message.
 *
 * @throws as {@link renderPrompt}
 */
export function renderIds(
  tokenizer: Tokenizer,
  template: ChatTemplate | undefined,
  prompt: Prompt,
  options: TemplateOptions = {},
): Pick<RenderedPrompt, 'text' | 'ids'> {
  if (typeof prompt === 'string') return withBos(tokenizer, prompt);
  const asked = { ...options, addGenerationPrompt: true, namedTokens: tokenizer.namedTokens };
  return withBos(tokenizer, requireTemplate(template).render(prompt, asked));
}

/**
 * A bound on the tokens of a prompt as {@link renderPrompt} renders it, found without making them.
 *
 * @throws UserError for a conversation without a template
 */
export function mostTokens(tokenizer: Tokenizer, template: ChatTemplate | undefined, prompt: Prompt): number {
  const named = { addGenerationPrompt: true, namedTokens: tokenizer.namedTokens };
  const text = typeof prompt === 'string' ? prompt : requireTemplate(template).render(prompt, named);
  return 1 + tokenizer.mostTokens(text);
}

/**
 * Renders a prompt with the answer that is to be imitated: the ids of {@link renderPrompt}, the completion's, and
 * one end token, as sampling would have left them.
 * @param options.endId the token that ends the assistant's turn.
 */
export function renderExample(
  tokenizer: Tokenizer,
  template: ChatTemplate | undefined,
  prompt: Prompt,
  completion: string,
  options: TemplateOptions & { endId: number },
): RenderedExample {
  const { endId, ...templateOptions } = options;
  const rendered = renderPrompt(tokenizer, template, prompt, templateOptions);
  const answer = tokenizer.encode(completion);
  if (answer.at(-1) !== endId) answer.push(endId);
  const start = rendered.ids.length;
  const ids = [...rendered.ids, ...answer];
  return {
    ids,
    spans: [...rendered.spans, { kind: 'completion', role: 'assistant', start, end: ids.length }],
  };
}

function requireTemplate(template: ChatTemplate | undefined): ChatTemplate {
  if (template !== undefined) return template;
  throw new UserError('the prompt is a conversation, but the model has no chat template', {
    hint: 'give prompts as plain text, or put a chat_template.jinja into the model folder',
  });
}

/**
 * Looks at the front only: what a prompt or a template writes before its own BOS makes that one a second, and a BOS
 * within a message stays.
 */
function withBos(tokenizer: Tokenizer, plain: string): { text: string; ids: number[] } {
  const ids = tokenizer.encode(plain);
  const { addsBos, bosId, bosToken } = tokenizer;
  const text = addsBos && ids[0] !== bosId ? bosToken! + plain : plain;
  if (text !== plain) ids.unshift(bosId!);
  if (ids.length === 0) throw new UserError('the prompt is empty: it has no token to continue from');
  return { text, ids };
}
