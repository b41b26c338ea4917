import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../../../../parity/kill_resume.mjs', import.meta.url));

/** A short form of the script's default: two kills of each run, at other moments for another seed. */
it('a killed run, resumed, leaves what a run that was never stopped leaves', async () => {
  // It ends with 1 where a file differs, is left over, or has a gap in its rows.
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, '2', '1']);
  expect(stdout.match(/^(train|all|sft): 2 kills of \d runs$/gm)).toHaveLength(3);
  expect(stdout.match(/^ {2}\d+ files compared, 0 differences$/gm)).toHaveLength(3);
}, 300_000);
