import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { consoleExamples } from '../examples.test.helper.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const PAGE = readFileSync(join(ROOT, 'docs/stories.md'), 'utf8');

/** A line of the page, in which `…` stands for any text, also for none. */
const patternOf = (line: string) =>
  new RegExp(
    `^${line
      .split(/ ?… ?/)
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')}$`,
  );

/** The first line of the page that the output does not have after those before it. */
function missingIn(output: string, expected: readonly string[]): string | undefined {
  const lines = output.split('\n').map((line) => line.trimEnd());
  let at = 0;
  for (const line of expected) {
    if (line === '…') continue;
    const found = lines.findIndex((own, i) => i >= at && patternOf(line).test(own));
    if (found < 0) return line;
    at = found + 1;
  }
  return undefined;
}

describe('docs/stories.md', () => {
  // The commands of the page follow each other in one folder.
  const folder = mkdtempSync(join(tmpdir(), 'grpo-stories-'));
  symlinkSync(join(ROOT, 'parity'), join(folder, 'parity'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(consoleExamples(PAGE).map((example) => [example.command.split('\n')[0]!, example]))(
    '%s',
    (_, { command, output }) => {
      const script = command.replace('npx grpo', `'${process.execPath}' '${MAIN}'`);
      const { stdout, stderr } = spawnSync('sh', ['-c', script], {
        cwd: folder,
        encoding: 'utf8',
        env: { ...process.env, NO_COLOR: '1' },
      });
      expect(missingIn(stdout + stderr, output), stdout + stderr).toBeUndefined();
    },
  );
});
