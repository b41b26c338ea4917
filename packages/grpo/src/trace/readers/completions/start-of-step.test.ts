import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../../formats/temp-folder.test.helper.js';
import { startOfStep } from './start-of-step.js';

/** Rows of steps with lengths that differ a hundredfold. */
function rowsFile(steps: readonly number[]): string {
  const file = join(tempFolder(), 'completions.jsonl');
  const row = (step: number, i: number) =>
    JSON.stringify({ step, text: 'é\n'.repeat(20 + ((i * 7919) % 2000)) });
  writeFileSync(file, steps.map((step, i) => `${row(step, i)}\n`).join(''));
  return file;
}

const STEPS = Array.from({ length: 900 }, (_, i) => 2 * Math.floor(i / 9) + 2);

it('leads to the rows of every step without those of many others', () => {
  const file = rowsFile(STEPS);
  const bytes = readFileSync(file);
  for (let step = 1; step <= 202; step++) {
    const start = startOfStep(file, step);
    expect(start === 0 || bytes[start - 1] === 0x0a, `a row begins at ${start}`).toBe(true);
    const lines = bytes.subarray(start).toString().split('\n').slice(0, -1);
    const rows = lines.map((line) => JSON.parse(line).step as number);
    const wanted = STEPS.filter((one) => one === step).length;
    expect(rows.filter((one) => one === step)).toHaveLength(wanted);
    const before = rows.findIndex((one) => one >= step);
    const skipped = before < 0 ? rows.length : before;
    expect(Buffer.byteLength(lines.slice(0, skipped).join('\n'))).toBeLessThan(2 ** 17);
  }
});

it('begins at the beginning of a file whose rows do not tell their steps first', () => {
  const file = join(tempFolder(), 'rows.jsonl');
  writeFileSync(file, `${JSON.stringify({ text: 'x'.repeat(1000), step: 3 })}\n`.repeat(300));
  expect(startOfStep(file, 3)).toBe(0);
});
