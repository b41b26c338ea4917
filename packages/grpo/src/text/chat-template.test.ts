import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { ChatTemplate } from './chat-template.js';
import { fixtureCases, fixtureFolder } from './fixtures.test.data.js';
import type { Message } from './message.js';
import { Tokenizer } from './tokenizer.js';

const root = sharedFolder();

const hello: Message[] = [{ role: 'user', content: 'hello' }];

function render(source: string, content = 'hello', variables: Record<string, unknown> = {}): string {
  const template = new ChatTemplate(source);
  return template.render([{ role: 'user', content }], { addGenerationPrompt: false, variables });
}

describe.each(['llama3', 'qwen2', 'qwen3'] as const)('the %s template against transformers', (family) => {
  const { conversations } = fixtureCases(family);
  const template = ChatTemplate.load(fixtureFolder(family))!;
  const { namedTokens } = Tokenizer.load(fixtureFolder(family));

  it.each(conversations.map((conversation, i) => [i, conversation] as const))(
    'conversation %i',
    (_i, one) => {
      const options = { tools: one.tools, variables: one.variables, namedTokens };
      expect(template.render(one.messages, { ...options, addGenerationPrompt: true })).toBe(one.open.text);
      expect(template.render(one.messages, { ...options, addGenerationPrompt: false })).toBe(one.closed.text);
    },
  );
});

describe('ChatTemplate.load', () => {
  function folder(config: unknown): string {
    const dir = mkdtempSync(join(root, 'model'));
    writeFileSync(join(dir, 'tokenizer_config.json'), JSON.stringify(config));
    return dir;
  }
  const shown = (dir: string) => ChatTemplate.load(dir)?.render(hello, { addGenerationPrompt: true });

  it('takes the file before the configuration', () => {
    const dir = folder({ chat_template: 'from the configuration' });
    expect(shown(dir)).toBe('from the configuration');
    writeFileSync(join(dir, 'chat_template.jinja'), 'from the file\n');
    expect(shown(dir)).toBe('from the file');
  });

  it('takes the default of a list', () => {
    const named = (name: string) => ({ name, template: `the ${name}` });
    expect(shown(folder({ chat_template: [named('tool_use'), named('default')] }))).toBe('the default');
    const dir = folder({ chat_template: [named('tool_use')] });
    expect(() => shown(dir)).toThrow(/tokenizer_config\.json: .*"default".*names found: tool_use/);
  });

  it('gives undefined where there is none', () => {
    expect(ChatTemplate.load(folder({ chat_template: null }))).toBeUndefined();
  });
});

describe('ChatTemplate.render', () => {
  it('shows what raise_exception says', () => {
    expect(() => render("{{ raise_exception('roles must take turns') }}")).toThrow(
      /cannot render this conversation: roles must take turns/,
    );
  });

  it('gives tools as none when there are none', () => {
    const template = new ChatTemplate('{{ "none" if tools is none else tools | length }}');
    const shown = (tools?: unknown[]) => template.render(hello, { addGenerationPrompt: true, tools });
    expect([shown(), shown([]), shown([{}, {}])]).toEqual(['none', 'none', '2']);
  });

  it('passes variables, but not over its own', () => {
    expect(render('{{ mood }}', 'hello', { mood: 'calm' })).toBe('calm');
    expect(() => render('', 'hello', { messages: [] })).toThrow(/variable messages is set by the renderer/);
  });

  it('refuses what is not a conversation, and what is not a template', () => {
    const template = new ChatTemplate('');
    expect(() => template.render([], { addGenerationPrompt: true })).toThrow(/at least one message/);
    const parts = [{ role: 'user', content: [{ type: 'text' }] }] as unknown as Message[];
    expect(() => template.render(parts, { addGenerationPrompt: true })).toThrow(
      /message 1 \(user\).*must be text/,
    );
    expect(() => new ChatTemplate('{% if %}', 'a.jinja')).toThrow(
      /a\.jinja: the chat template cannot be parsed/,
    );
  });
});
