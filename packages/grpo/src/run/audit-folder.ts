import { join } from 'node:path';
import type { Measure } from '../audit/context.js';
import { worstOf } from '../audit/worst.js';
import { lastLine } from '../formats/last-line.js';
import type { Run } from './open-run.js';

const ROWS = 'rows of a step in metrics.jsonl';

/** Files with rows of every step, which may be too large to be read whole. */
const LARGE = ['completions.jsonl', 'timings.jsonl'] as const;

/** Holds the files of a run's folder to the run: one row for each step that is done, and no other writer. */
export const auditFolder =
  ({ folder, progress }: Pick<Run, 'folder' | 'progress'>): Measure =>
  async ({ step, trainer }) => {
    const rows = new Map<number, number>();
    let tokens = 0;
    for (const row of await folder.rowsOf('metrics.jsonl')) {
      rows.set(row.step, (rows.get(row.step) ?? 0) + 1);
      tokens = Number(row.num_tokens);
    }
    const done = Array.from({ length: step }, (_, i) => i + 1);
    const steps = [...new Set([...done, ...rows.keys()])];
    const counts = steps.map((number) => ({
      found: `step ${number}: ${rows.get(number) ?? 0}`,
      plain: `step ${number}: ${number <= step ? 1 : 0}`,
      bound: 0,
    }));
    const lasts = LARGE.map((file) => {
      const last = lastLine(join(folder.path, file));
      const found = last === undefined ? 0 : (JSON.parse(last) as { step: number }).step;
      return worstOf('run', `step of the last row in ${file}`, [{ found, plain: step, bound: 0 }]);
    });
    const { own, owner = 'nobody' } = folder.lock;
    // Equal runs leave equal records: of this process nothing is told.
    const writer = { found: owner === own ? 'this run' : owner, plain: 'this run', bound: 0 };
    return {
      comparisons: [
        ...worstOf('run', ROWS, counts),
        ...lasts.flat(),
        ...worstOf('run', 'process that has the folder', [writer]),
        // The rows are written by step, the count is carried from checkpoint to checkpoint.
        ...worstOf(
          trainer.restored && progress.tokens !== tokens ? 'checkpoint' : 'run',
          'tokens of the run so far',
          [{ found: progress.tokens, plain: tokens, bound: 0 }],
        ),
      ],
    };
  };
