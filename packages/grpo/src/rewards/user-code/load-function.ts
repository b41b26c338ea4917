import { fileURLToPath } from 'node:url';
import { UserError } from '../../errors/user-error.js';
import type { RewardFunction } from '../reward.js';
import { describeExports, importModule } from './import-module.js';

const EXAMPLE = `The module's default export (or an export named "reward") scores a batch, one number or null per completion:
  import { each } from 'grpo/rewards';
  export default each((completion, row) => (completion.includes(String(row.answer)) ? 1 : 0));`;

/** Loads the reward function of the module at an absolute path, in this thread. */
export async function loadRewardFunction(path: string): Promise<RewardFunction> {
  // As a program would see it, of this copy, and not imported from above; it does not load the tensor engine.
  const alias = { 'grpo/rewards': fileURLToPath(new URL('../../reward-exports.js', import.meta.url)) };
  const exported = await importModule('reward module', path, { alias });
  const score = exported.default ?? exported.reward;
  if (typeof score !== 'function') {
    throw new UserError(
      `reward module ${path} exports no reward function; it exports ${describeExports(exported)}`,
      { hint: EXAMPLE },
    );
  }
  return score as RewardFunction;
}
