import { describe, expect, it } from 'vitest';
import { ChatTemplate } from './chat-template.js';
import { FAMILIES, fixtureCases, fixtureFolder } from './fixtures.test.data.js';
import type { Message } from './message.js';
import { renderExample, renderIds, renderPrompt } from './render.js';
import type { Span } from './spans.js';
import { Tokenizer } from './tokenizer.js';

const load = (family: (typeof FAMILIES)[number]) => ({
  tokenizer: Tokenizer.load(fixtureFolder(family)),
  template: ChatTemplate.load(fixtureFolder(family)),
});
const count = (ids: number[], id: number | undefined) => ids.filter((other) => other === id).length;
const conversation: Message[] = [
  { role: 'system', content: ' Be short. ' },
  { role: 'user', content: 'user' },
  { role: 'assistant', content: '<musing>\nhm\n</musing>\n\nfirst' },
  { role: 'user', content: '麦 12 + 30?' },
];

describe.each(['llama3', 'qwen2', 'qwen3'] as const)('renderPrompt with %s', (family) => {
  const { tokenizer, template } = load(family);

  it("gives transformers' text and ids for every conversation", () => {
    for (const { messages, tools, variables, open } of fixtureCases(family).conversations) {
      const { text, ids, generationPrompt } = renderPrompt(tokenizer, template, messages, {
        tools,
        variables,
      });
      expect({ text, ids }).toEqual(open);
      expect(renderIds(tokenizer, template, messages, { tools, variables })).toEqual(open);
      expect(generationPrompt).toBe(true);
    }
  });

  it('marks the content of each message and the header of the answer', () => {
    const { ids, spans } = renderPrompt(tokenizer, template, conversation);
    const shown = ({ kind, index, start, end }: Span) => [
      kind,
      index,
      tokenizer.decode(ids.slice(start, end)),
    ];
    const header = family === 'llama3' ? /^<\|turn\|>assistant<\|says\|>\n$/ : /^<\|turn\|>assistant\n$/;
    const trimmed = family === 'llama3';
    expect(spans.slice(1).map(shown)).toEqual([
      ['message', 0, trimmed ? 'Be short.' : ' Be short. '],
      ['message', 1, 'user'],
      ['message', 2, family === 'qwen3' ? 'first' : '<musing>\nhm\n</musing>\n\nfirst'],
      ['message', 3, '麦 12 + 30?'],
      ['generation', undefined, expect.stringMatching(header)],
    ]);
    expect(spans[0]).toEqual({ kind: 'prompt', start: 0, end: ids.length });
    expect(spans.at(-1)?.end).toBe(ids.length);
  });
});

describe('spans that cannot be told', () => {
  const { tokenizer } = load('qwen2');
  const indices = (source: string, messages: Message[]) =>
    renderPrompt(tokenizer, new ChatTemplate(source), messages)
      .spans.filter((span) => span.kind === 'message')
      .map((span) => span.index);
  const each = (body: string) => `{% for m in messages %}${body}{% endfor %}`;
  const two: Message[] = [
    { role: 'user', content: 'abc' },
    { role: 'user', content: 'b' },
  ];

  it('are left out: changed, repeated, refused or normalized content', () => {
    expect(indices(each('<{{ m.content }}>'), two)).toEqual([0, 1]);
    expect(indices(each('<{{ m.content | upper }}>'), two)).toEqual([]);
    expect(indices(each('<{{ m.content }}{{ m.content }}>'), two)).toEqual([]);
    const refusing =
      "{% if m.content|length < 3 %}{{ raise_exception('too short') }}{% endif %}{{ m.content }}";
    expect(indices(each(refusing), two.slice(0, 1))).toEqual([]);
    expect(indices(each('{{ m.content }}'), [{ role: 'user', content: 'e\u0301' }])).toEqual([]);
  });
});

describe('the BOS', () => {
  const { tokenizer, template } = load('llama3');
  const bos = tokenizer.bosId!;
  const bare = new ChatTemplate('{% for m in messages %}{{ m.content }}{% endfor %}');

  it.each([
    ['plain text', undefined, 'The miller'],
    ['plain text that has one', undefined, '<|begin_of_text|>The miller'],
    ['a template that writes it', template, [{ role: 'user', content: 'hi' }] as Message[]],
    ['a template that does not', bare, [{ role: 'user', content: 'hi' }] as Message[]],
  ])('stands once in front of %s', (_name, chosen, prompt) => {
    const { text, ids } = renderPrompt(tokenizer, chosen, prompt);
    expect([ids[0], count(ids, bos)]).toEqual([bos, 1]);
    // The text is what the model sees: encoding it again gives the same ids.
    expect(tokenizer.encode(text)).toEqual(ids);
  });

  it('shifts the spans when it is added', () => {
    const { ids, spans } = renderPrompt(tokenizer, bare, [{ role: 'user', content: 'hi' }]);
    const message = spans.find((span) => span.kind === 'message')!;
    expect(tokenizer.decode(ids.slice(message.start, message.end))).toBe('hi');
  });

  it('is one more where something stands before it, or where a message holds its text', () => {
    const late = new ChatTemplate('\n{{ bos_token }}{{ messages[0].content }}');
    const { ids } = renderPrompt(tokenizer, late, [{ role: 'user', content: 'hi' }]);
    expect([ids[0], count(ids, bos)]).toEqual([bos, 2]);
    const within: Message[] = [{ role: 'user', content: 'a<|begin_of_text|>b' }];
    expect(count(renderPrompt(tokenizer, template, within).ids, bos)).toBe(2);
  });

  it('is not added by a tokenizer that has one and does not use it', () => {
    const gpt2 = load('gpt2').tokenizer;
    const { ids, text, generationPrompt } = renderPrompt(gpt2, undefined, 'The miller');
    expect([text, gpt2.decode(ids), generationPrompt]).toEqual(['The miller', 'The miller', undefined]);
  });
});

describe('renderPrompt', () => {
  const { tokenizer } = load('gpt2');

  it('records a template that ignores the generation prompt', () => {
    const template = new ChatTemplate('{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}');
    expect(renderPrompt(tokenizer, template, conversation).generationPrompt).toBe(false);
  });

  it('says what to do without a template, and refuses an empty prompt', () => {
    expect(() => renderPrompt(tokenizer, undefined, conversation)).toThrow(/no chat template/);
    expect(() => renderPrompt(tokenizer, undefined, '')).toThrow(/prompt is empty/);
  });
});

describe.each(FAMILIES)('renderExample with %s', (family) => {
  const { tokenizer, template } = load(family);
  const endId = tokenizer.eosId!;
  const prompt = template ? conversation : 'What is 12 + 30?';

  it('is the prompt and the completion, to the byte, for every string', () => {
    const { strings } = fixtureCases(family);
    const { text, ids: promptIds } = renderPrompt(tokenizer, template, prompt);
    for (const { text: completion, decoded = completion } of strings) {
      const { ids, spans } = renderExample(tokenizer, template, prompt, completion, { endId });
      const { start, end } = spans.at(-1)!;
      expect([start, end, ids.at(-1)]).toEqual([promptIds.length, ids.length, endId]);
      expect(tokenizer.decode(ids.slice(0, start))).toBe(text);
      // An end token that the completion brings is its own, not one more.
      const ended = decoded.endsWith(tokenizer.eosToken!) ? decoded : decoded + tokenizer.eosToken!;
      expect(tokenizer.decode(ids.slice(start))).toBe(ended);
    }
  });

  it('begins with the very ids of the prompt and trains one end token', () => {
    const { ids: promptIds, spans: promptSpans } = renderPrompt(tokenizer, template, prompt);
    const answer = [...tokenizer.encode(' 42\n'), endId];
    const end = promptIds.length + answer.length;
    for (const completion of [' 42\n', ` 42\n${tokenizer.eosToken}`]) {
      const { ids, spans } = renderExample(tokenizer, template, prompt, completion, { endId });
      expect(ids).toEqual([...promptIds, ...answer]);
      expect(spans).toEqual([
        ...promptSpans,
        { kind: 'completion', role: 'assistant', start: promptIds.length, end },
      ]);
    }
  });
});
