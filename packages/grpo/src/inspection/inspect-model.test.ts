import { describe, expect, it } from 'vitest';
import { type Config, configSchema } from '../config/schema.js';
import { fixtureCases, fixtureFolder } from '../text/fixtures.test.data.js';
import { Tokenizer } from '../text/tokenizer.js';
import { inspectModel } from './inspect-model.js';
import { DATED, inspectedFolders, MERGED, OPEN, TURNS } from './inspection.test.helper.js';

const { folder, maskedFolder } = inspectedFolders();

const checkOf = (dir: string, name: string, options = {}) =>
  inspectModel(dir, options).checks.find((check) => check.name === name)!;
const rowOf = (dir: string, name: string) => {
  const row = inspectModel(dir).rows.find((one) => one.name === name)!;
  if ('problem' in row) throw new Error(row.problem);
  return row;
};

describe('the table of prompts', () => {
  it('has the ids that transformers has for the same conversation', () => {
    const { messages, open } = fixtureCases('qwen2').conversations.find(
      ({ messages: [first, ...rest], tools }) => first!.role === 'user' && rest.length === 0 && !tools,
    )!;
    const { rows } = inspectModel(folder('qwen2'), { prompts: [messages[0]!.content] });
    expect(rows.find(({ name }) => name === 'no system')).toMatchObject({ ids: open.ids });
  });

  it('counts BOS tokens and finds header and system turn', () => {
    const dir = folder('llama3', DATED);
    const system = 'system: "You are a helpful assistant."';
    expect(rowOf(dir, system)).toMatchObject({ bos: 1, header: true, system: 'yes', roundTrip: true });
    expect(rowOf(dir, 'no system')).toMatchObject({ bos: 1, header: true, system: 'EMPTY' });
    expect(rowOf(dir, 'plain text')).toMatchObject({ bos: 1, header: false, system: '–', dated: [] });
    expect(rowOf(folder('qwen2'), 'no system')).toMatchObject({ bos: 0, system: 'OWN' });
    expect(rowOf(folder('qwen3', `${TURNS}${OPEN}`), 'no system')).toMatchObject({ system: '–' });
    expect(rowOf(folder('gpt2'), 'plain text · prompt 1')).toMatchObject({ header: null, bos: 0 });
  });

  it('finds no system turn where the message is written into the user’s', () => {
    expect(rowOf(folder('llama3', MERGED), 'no system')).toMatchObject({ system: '–' });
  });

  it('keeps a refused prompt with its reason, and goes on', () => {
    const refusing = `{% if messages[0].role == 'system' %}{{ raise_exception('no system here') }}{% endif %}${TURNS}${OPEN}`;
    const { rows, checks } = inspectModel(folder('llama3', refusing));
    expect(rows.filter((row) => 'problem' in row)).toHaveLength(3);
    expect(rows.filter((row) => 'ids' in row)).toHaveLength(2);
    expect(checks[0]).toMatchObject({ name: 'template', verdict: 'inform' });
    expect(checks[0]!.says).toContain('no system here');
  });
});

describe('checks of the rows', () => {
  it('pass for a plain template', () => {
    const { checks } = inspectModel(folder('llama3', `{{ bos_token }}${TURNS}${OPEN}`));
    const found = checks.filter(({ verdict }) => verdict === 'warn' || verdict === 'fail');
    expect(found).toEqual([]);
  });

  it('fail a template that opens no answer, and one that writes two BOS tokens', () => {
    const unopened = `{{ bos_token }}${TURNS}`;
    expect(checkOf(folder('llama3', unopened), 'header')).toMatchObject({ verdict: 'fail' });
    const twice = `{{ bos_token }}{{ bos_token }}${TURNS}${OPEN}`;
    expect(checkOf(folder('llama3', twice), 'bos')).toMatchObject({ verdict: 'fail' });
  });

  it('fail a template that loses the system message', () => {
    const losing = `${TURNS.replace('messages %}', "messages if one.role != 'system' %}")}${OPEN}`;
    expect(checkOf(folder('llama3', losing), 'system message')).toMatchObject({ verdict: 'fail' });
  });

  it('warn of a day that the template writes, with its line', () => {
    const date = checkOf(folder('llama3', DATED), 'date');
    expect(date).toMatchObject({ verdict: 'warn' });
    expect(date.says).toMatch(/4 of 4 prompts \("Today Date: \d\d \w{3} \d{4}"\)/);
    const fixed = DATED.replace("(date_string or strftime_now('%d %b %Y'))", "'26 Jul 2024'");
    expect(checkOf(folder('llama3', fixed), 'date')).toMatchObject({ verdict: 'inform' });
    expect(checkOf(folder('llama3', `${TURNS}${OPEN}`), 'date')).toMatchObject({ verdict: 'pass' });
  });

  it('warn of a system turn that nobody asked for', () => {
    expect(checkOf(folder('llama3', DATED), 'system turn').says).toMatch(/nothing but "Today Date: /);
    expect(checkOf(folder('qwen2'), 'system turn')).toMatchObject({ verdict: 'inform' });
  });
});

describe('checks of the ends', () => {
  it('warn where sampling does not stop at the template’s end of a turn', () => {
    const dir = folder('qwen2', undefined, { eos_token_id: Tokenizer.load(fixtureFolder('qwen2')).padId });
    expect(checkOf(dir, 'end of turn')).toMatchObject({ verdict: 'warn' });
    expect(inspectModel(dir).tokens.ends.map(({ sources, stops }) => [sources.join(), stops])).toEqual([
      ['generation_config.json', true],
      ['config.json,tokenizer_config.json,template', false],
    ]);
    expect(checkOf(folder('qwen2'), 'end of turn')).toMatchObject({ verdict: 'pass' });
  });

  it('tell what stands before an answer in a whole conversation', () => {
    const musing = `{% for one in messages %}{{ '<|turn|>' ~ one.role ~ '\\n' ~ ('<musing></musing>' if one.role == 'assistant') ~ one.content ~ '<|/turn|>' }}{% endfor %}{% if add_generation_prompt %}{{ '<|turn|>assistant\\n' }}{% endif %}`;
    expect(checkOf(folder('qwen3', musing), 'whole conversations')).toMatchObject({ verdict: 'inform' });
    const otherHeader = musing.replace("'<|turn|>assistant\\n'", "'<|turn|>model\\n'");
    expect(checkOf(folder('qwen3', otherHeader), 'whole conversations')).toMatchObject({ verdict: 'warn' });
    expect(checkOf(folder('qwen3', `${TURNS}${OPEN}`), 'whole conversations')).toMatchObject({
      verdict: 'pass',
    });
  });
});

describe('decoding', () => {
  it('stands beside what the folder asks for', () => {
    const dir = folder('qwen2', undefined, { eos_token_id: 0, temperature: 0.6, top_k: 0 });
    const { decoding } = inspectModel(dir);
    expect(decoding[0]).toEqual({
      name: 'temperature',
      training: 1,
      evaluation: '0; 1 sampled at 1',
      folder: 0.6,
    });
    expect(checkOf(dir, 'decoding').says).toMatch(/asks for temperature 0\.6 \(training: 1\)\. /);
    expect(checkOf(folder('qwen2'), 'decoding')).toMatchObject({ verdict: 'pass' });
  });

  it('of a masked-diffusion model has its blocks and steps', () => {
    const dir = maskedFolder({ steps: 8 });
    const rowsOf = (changes: object) => {
      const config = configSchema.parse({ rollout: { maxNewTokens: 64 }, ...changes }) as Config;
      const task = { name: 'sums', train: [{ prompt: '1+1=', row: {} }], eval: [], stop: [] };
      const { decoding, checks } = inspectModel(dir, { run: { task, config } });
      const check = checks.find(({ name }) => name === 'decoding')!;
      return [
        ...decoding.slice(-2).map(({ name, training, folder }) => [name, training, folder]),
        check.verdict,
      ];
    };
    expect(rowsOf({})).toEqual([['block_length', 64, null], ['steps', 8, 8], 'pass']);
    expect(rowsOf({ diffusion: { blockLength: 16, steps: 32 } })).toEqual([
      ['block_length', 16, null],
      ['steps', 32, 8],
      'inform',
    ]);
  });
});
