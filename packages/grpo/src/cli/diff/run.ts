import { UsageError } from '../../config/index.js';
import type { CommandArguments } from '../command.js';
import { askedBy, explain } from '../explain/explained.js';
import { pageWidth } from '../text-layout.js';
import { diffPage } from './diff-page.js';
import { differences } from './differences.js';
import { compareTrl } from './trl/compare-trl.js';
import { trlPage } from './trl/trl-page.js';
import { readTrl } from './trl/trl-tree.js';

/** `grpo diff`: the differences of two presets, files or runs, or of two versions of TRL, explained. Needs no tensor engine. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [a, b, ...more] = operands;
  if (a === undefined || b === undefined || more.length > 0) {
    throw new UsageError(
      flags.trl
        ? 'grpo diff --trl needs two folders with TRL.'
        : 'grpo diff needs two presets, files or runs.',
      {
        hint: 'For instance: grpo diff grpo.yaml dapo, or grpo diff --trl old/site-packages new/site-packages',
      },
    );
  }
  const write = <T>(found: T, page: (found: T, width: number) => string) =>
    process.stdout.write(flags.json ? `${JSON.stringify(found)}\n` : page(found, pageWidth()));
  if (flags.trl) write(compareTrl(readTrl(a), readTrl(b)), trlPage);
  else write(differences(explain(askedBy(a)), explain(askedBy(b))), diffPage);
  return 0;
}
