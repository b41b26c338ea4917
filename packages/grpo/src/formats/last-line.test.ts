import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lastLine } from './last-line.js';
import { tempFolder } from './temp-folder.test.helper.js';

const long = 'é'.repeat(2 ** 16);

it.each([
  ['', undefined],
  ['\n\n', undefined],
  ['one', 'one'],
  ['one\ntwo\n', 'two'],
  ['one\ntwo\n\n', 'two'],
  [`one\n${long}\n`, long],
  [`${long}\ntwo`, 'two'],
])('the last line, case %#', (text, last) => {
  const path = join(tempFolder(), 'file');
  writeFileSync(path, text);
  expect(lastLine(path)).toBe(last);
});
