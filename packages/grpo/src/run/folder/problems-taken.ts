import { UserError } from '../../errors/user-error.js';
import type { Run } from '../open-run.js';

/**
 * Holds the place in the problems that a run goes on from to the groups that its rows count. Only rows of steps that may
 * replace flat groups count them; a run with other rows, or with rows missing, is not judged.
 *
 * @throws UserError for another number
 */
export async function requireProblemsTaken({ folder, progress, config }: Run): Promise<void> {
  const { step, problems } = progress;
  if (problems === undefined || config.train.repeatBatch) return;
  const counts = (await folder.rowsOf('metrics.jsonl')).map((row) => row.groups_sampled);
  if (counts.length !== step || !counts.every((count) => typeof count === 'number')) return;
  const sampled = counts.reduce((sum, count) => sum + count, 0);
  if (sampled === problems) return;
  throw new UserError(
    `the checkpoint of step ${step} goes on after ${problems} problems, and by groups_sampled in metrics.jsonl ${sampled} were taken: problems would be trained on twice, or left out`,
    {
      hint: 'Delete that checkpoint to go on from the one before it, where there is one, and report this as a fault of grpo.',
    },
  );
}
