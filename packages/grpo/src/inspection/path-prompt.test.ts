import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Config, configSchema } from '../config/schema.js';
import { asPrompt } from '../tasks/prompt.js';
import { fixtureCases } from '../text/fixtures.test.data.js';
import { Tokenizer } from '../text/tokenizer.js';
import { type InspectOptions, inspectModel } from './inspect-model.js';
import { DATED, inspectedFolders, OPEN, TURNS } from './inspection.test.helper.js';
import type { InspectedRun } from './run-checks.js';
import type { TemplateRow } from './template-rows.js';

const { root, folder } = inspectedFolders();
let files = 0;

/** A run that asks with a system message, or in plain text. */
const runOf = (system: string | undefined): InspectedRun => ({
  task: { name: 'sums', train: [{ prompt: asPrompt('1+1?', system), row: {} }], eval: [], stop: [] },
  config: configSchema.parse({ task: { system } }) as Config,
});

/** What another program's text or ids are told to differ by. */
function compared(dir: string, given: string | object, options: InspectOptions = {}) {
  const path = join(root, `${files++}${typeof given === 'string' ? '.txt' : '.json'}`);
  writeFileSync(path, typeof given === 'string' ? given : JSON.stringify(given));
  const { paths, checks } = inspectModel(dir, { paths: [path], ...options });
  const check = checks.at(-1)!;
  return { ...paths[0]!, verdict: check.verdict, says: paths[0]!.causes.map(({ cause }) => cause).join(' ') };
}

describe("another program's prompt", () => {
  const dir = folder('llama3', DATED);
  const BOS = '<|begin_of_text|>';
  const { rows } = inspectModel(dir, { prompts: ['What is 2+2?'] });
  const own = rows[0] as TemplateRow;
  const HEADER = '<|turn|>assistant<|says|>\n';

  it('passes with the ids of training, of any question', () => {
    expect(compared(dir, own.ids)).toMatchObject({ verdict: 'pass', first: null, from: 'the same question' });
    expect(compared(dir, { input_ids: [own.ids] })).toMatchObject({ verdict: 'pass' });
    expect(compared(dir, own.ids, { prompts: ['What is 2+2?'] })).toMatchObject({ from: rows[0]!.name });
  });

  it('has a BOS twice where rendered text is encoded with special tokens', () => {
    const twice = compared(dir, own.text);
    expect(twice).toMatchObject({ verdict: 'fail', bos: 2, first: 1 });
    expect(twice.says).toMatch(/^Double BOS: the text already holds one/);
    expect(compared(dir, own.text.slice(BOS.length))).toMatchObject({ verdict: 'pass' });
  });

  it('lacks the BOS', () => {
    expect(compared(dir, own.ids.slice(1))).toMatchObject({ first: 0, says: 'The BOS in front is missing.' });
  });

  it('lacks the header, beside a second BOS', () => {
    const both = compared(dir, own.text.slice(0, -HEADER.length));
    expect(both.says).toMatch(/^Double BOS.*The assistant's header ".*" is missing at the end/);
    expect(both.causes).toHaveLength(2);
  });

  it('is of another day', () => {
    const text = own.text.slice(BOS.length).replace(/Today Date: .*/, 'Today Date: 26 Jul 2024');
    expect(compared(dir, text).says).toMatch(/^The date is another: 26 Jul 2024 there, \d\d \w{3} \d{4} in/);
  });

  it('lacks white space, or has more of it', () => {
    const text = own.text.slice(BOS.length);
    expect(compared(dir, text.trimEnd()).says).toBe(
      'White space differs at the end: "" there, "\\n" in training.',
    );
    expect(compared(dir, `${text}\n`).says).toMatch(/"\\n\\n" there, "\\n" in training/);
    expect(compared(dir, text.replace('2+2?', '2+2? ')).verdict).toBe('pass');
  });

  it('is plain text, or through another template', () => {
    expect(compared(dir, 'What is 2+2?').says).toMatch(/^Plain text: nothing of the chat template/);
    const other = inspectModel(folder('llama3', `${TURNS.replace('<|says|>', '')}${OPEN}`));
    expect(compared(dir, (other.rows[3] as TemplateRow).ids).says).toMatch(/Another template: /);
  });

  it('goes through a template where training asks in plain text', () => {
    const { says } = compared(dir, own.ids, { run: runOf(undefined) });
    expect(says).toMatch(/^It is rendered through a chat template/);
  });

  it('has another system message than the run', () => {
    const { says, from } = compared(dir, own.ids, { run: runOf('Be brief.') });
    expect(from).toBe('the same question');
    expect(says).toBe(
      'The system message is "You are a helpful assistant." there and "Be brief." in training.',
    );
  });

  it('has the same text in other ids', () => {
    const tokenizer = Tokenizer.load(dir);
    const cuts = Array.from(own.text, (_, at) => at).map((at) =>
      [own.text.slice(0, at), own.text.slice(at)].flatMap((part) => tokenizer.encode(part)),
    );
    const other = cuts.find((ids) => ids.length > own.ids.length)!;
    expect(compared(dir, other).says).toMatch(/^The text is the same and its ids are not/);
  });

  it('is judged by the ids of transformers, with and without the generation prompt', () => {
    const qwen = folder('qwen2');
    const { open, closed } = fixtureCases('qwen2').conversations.find(
      ({ messages: [first, ...rest], tools }) => first!.role === 'user' && rest.length === 0 && !tools,
    )!;
    expect(compared(qwen, open.ids)).toMatchObject({ verdict: 'pass' });
    expect(compared(qwen, closed.ids).says).toMatch(/header ".*" is missing at the end/);
  });

  it('is not compared where it holds several turns that no row has', () => {
    const qwen = folder('qwen2');
    const several = fixtureCases('qwen2').conversations.find(
      ({ messages, tools }) => messages.map(({ role }) => role).join() === 'user,assistant,user' && !tools,
    )!;
    expect(compared(qwen, several.open.ids)).toMatchObject({ verdict: 'warn', hasMoreTurns: true });
  });

  it('refuses a file that holds no ids', () => {
    expect(() => compared(dir, { tokens: [1] })).toThrow(/must hold the ids of one prompt/);
    expect(() => compared(dir, [1, -2])).toThrow(/must hold the ids of one prompt/);
  });
});
