import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ChatTemplate, type TemplateOptions } from './chat-template.js';
import { fixtureFolder } from './fixtures.test.data.js';
import type { Message } from './message.js';
import { renderPrompt } from './render.js';
import { Tokenizer } from './tokenizer.js';

/** Fixture of `parity/make_template_fixtures.py`: transformers' text, or null where the template refuses. */
interface Templates {
  tokens: Record<string, string>;
  templates: Record<string, string>;
  conversations: (TemplateOptions & { messages: Message[] })[];
  /** With the generation prompt the text is `open`, or `closed` and `prompt`. */
  texts: Record<string, { closed: string | null; open?: string | null; prompt?: string }[]>;
}

const file = new URL('../../../../parity/fixtures/text/templates.json', import.meta.url);
const { tokens, templates, conversations, texts } = JSON.parse(readFileSync(file, 'utf8')) as Templates;

/** Where this template stands with its conversations: only those that it can render. */
const cases = Object.entries(templates).flatMap(([name, source]) =>
  conversations.map((conversation, i) => ({ name, source, i, conversation, expected: texts[name]![i]! })),
);

describe.each(Object.keys(templates))('the template %s against transformers', (name) => {
  const template = new ChatTemplate(templates[name]!);

  it(`renders ${conversations.length} conversations to the same text, and refuses the same`, () => {
    expect(conversations.length).toBeGreaterThanOrEqual(60);
    const render = (
      { messages, tools, variables }: (typeof conversations)[number],
      addGenerationPrompt: boolean,
    ) => {
      const options = { addGenerationPrompt, tools, variables, namedTokens: tokens };
      try {
        return template.render(messages, options);
      } catch (error) {
        if (/cannot render this conversation/.test(String(error))) return null;
        throw error;
      }
    };
    for (const [i, conversation] of conversations.entries()) {
      const { closed, prompt, open = `${closed}${prompt}` } = texts[name]![i]!;
      const found = { i, closed: render(conversation, false), open: render(conversation, true) };
      expect(found).toEqual({ i, closed, open });
    }
  });
});

describe.each(['llama3', 'qwen2'] as const)('the spans of conversations with the tokens of %s', (family) => {
  const tokenizer = Tokenizer.load(fixtureFolder(family));
  const rendered = cases
    // Where a template drops the system's words, rules alone are no prompt.
    .filter(
      ({ expected, conversation }) =>
        expected.closed !== null && conversation.messages.some(({ role }) => role !== 'system'),
    )
    .map(({ source, conversation }) => {
      const { messages, ...options } = conversation;
      return { messages, ...renderPrompt(tokenizer, new ChatTemplate(source), messages, options) };
    });

  it('cover text that stands in the messages, in order, within the prompt', () => {
    let found = 0;
    for (const { messages, ids, text, spans } of rendered) {
      expect(spans[0]).toEqual({ kind: 'prompt', start: 0, end: ids.length });
      expect(tokenizer.encode(text)).toEqual(ids);
      let end = 0;
      for (const { kind, index, start, end: next } of spans.slice(1).sort((a, b) => a.start - b.start)) {
        expect([start >= end, next > start, next <= ids.length]).toEqual([true, true, true]);
        end = next;
        if (kind !== 'message') continue;
        found++;
        // Templates trim, and a token may reach over the edge of a message.
        const covered = tokenizer.decode(ids.slice(start, next)).trim();
        expect(`<${messages[index!]!.content}>`).toContain(covered.replace(/^\W+|\W+$/g, ''));
      }
    }
    expect(found).toBeGreaterThan(500);
  });

  it('leave the text whole: what precedes, each span, what follows', () => {
    for (const { ids, text, spans } of rendered) {
      for (const { start, end } of spans) {
        const parts = [ids.slice(0, start), ids.slice(start, end), ids.slice(end)];
        const joined = parts.map((part) => tokenizer.decode(part)).join('');
        // The tokens of Qwen spell the text in NFC.
        expect(joined).toBe(family === 'qwen2' ? text.normalize('NFC') : text);
      }
    }
  });
});
