import { UsageError } from '../../config/index.js';
import type { CommandArguments } from '../command.js';
import { pageWidth } from '../text-layout.js';
import { askedBy, explain } from './explained.js';
import { explainedPage } from './explained-page.js';

/** `grpo explain`: explains a preset, a file or the defaults. Needs no tensor engine. */
export async function run({ flags, settings, operands }: CommandArguments): Promise<number> {
  const [word, ...more] = operands;
  const file = flags.config as string | undefined;
  if (more.length > 0 || (word !== undefined && file !== undefined)) {
    throw new UsageError('grpo explain takes one preset, or --config FILE.', {
      hint: 'To see how two of them differ: grpo diff A B',
    });
  }
  const explained = explain({ ...(word === undefined ? { file } : askedBy(word)), settings });
  process.stdout.write(flags.json ? `${JSON.stringify(explained)}\n` : explainedPage(explained, pageWidth()));
  return 0;
}
