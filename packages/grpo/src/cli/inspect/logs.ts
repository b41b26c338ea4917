import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onFile } from '../../errors/file-error.js';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import type { InspectionCheck } from '../../inspection/check.js';

/** Writes a log of each check, and `summary.log` with a line of each. */
export function saveLogs(dir: string, checks: readonly InspectionCheck[]): void {
  onFile('write', dir, () => mkdirSync(dir, { recursive: true }));
  const named = checks.map((check, i) => ({
    ...check,
    file: `${String(i + 1).padStart(2, '0')}-${check.name.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '')}.log`,
  }));
  for (const { file, name, verdict, says, remedy, log } of named)
    writeFileAtomic(
      join(dir, file),
      `${[name, `${verdict}: ${says}`, ...(remedy === undefined ? [] : [`do: ${remedy}`]), '', ...log].join('\n')}\n`,
    );
  const lines = named.map(({ file, verdict, says }) => `${verdict.padEnd(14)} ${file}  ${says}`);
  writeFileAtomic(join(dir, 'summary.log'), `${lines.join('\n')}\n`);
}
