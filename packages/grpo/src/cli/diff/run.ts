import { UsageError } from '../../config/index.js';
import type { CommandArguments } from '../command.js';
import { askedBy, explain } from '../explain/explained.js';
import { pageWidth } from '../text-layout.js';
import { diffPage } from './diff-page.js';
import { differences } from './differences.js';

/** `grpo diff`: the differences of two presets or files, explained. Needs no tensor engine. */
export async function run({ flags, operands }: CommandArguments): Promise<number> {
  const [a, b, ...more] = operands;
  if (a === undefined || b === undefined || more.length > 0) {
    throw new UsageError('grpo diff needs two presets or files.', {
      hint: 'For instance: grpo diff grpo.yaml dapo, or grpo diff defaults trl-1',
    });
  }
  const found = differences(explain(askedBy(a)), explain(askedBy(b)));
  process.stdout.write(flags.json ? `${JSON.stringify(found)}\n` : diffPage(found, pageWidth()));
  return 0;
}
