import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { promptTemplate } from './prompt.js';

function file(content: string): string {
  const path = join(tempFolder(), 'mine.prompt');
  writeFileSync(path, content);
  return path;
}
const template = (content: string, system?: string) =>
  promptTemplate({ instructions: 'number', file: file(content), system });

describe("the user's prompt", () => {
  it.each([
    ['no newline at its end', 'User: {question}\nAssistant: <think>'],
    ['a newline at its end', '{question}\n'],
    ['white space at its end', '{question} \t '],
    ['CRLF', 'User: {question}\r\nAssistant:\r\n'],
    ['a byte order mark', '\uFEFF{question}'],
    ['composed and decomposed letters', 'e\u0301 é {question}'],
  ])('with %s stays as it is, byte for byte', (_, content) => {
    const asked = template(content).render('a $& b');
    expect(Buffer.from(asked as string)).toEqual(Buffer.from(content.split('{question}').join('a $& b')));
    expect(template(content, '').render('x')).toEqual([
      { role: 'user', content: content.replace('{question}', 'x') },
    ]);
  });

  it('opens <think> where it ends in it, with or without white space, as plain text only', () => {
    expect(template('{question} <think>').thinkOpened).toBe(true);
    expect(template('{question} <think>\n').thinkOpened).toBe(true);
    expect(template('<think> {question}').thinkOpened).toBe(false);
    expect(template('{question} <think>', '').thinkOpened).toBe(false);
  });
});
