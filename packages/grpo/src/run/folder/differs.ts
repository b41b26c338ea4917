import { UserError } from '../../errors/user-error.js';

/** A file of a checkpoint that is not what the run has in memory. */
export const differs = (path: string, problem: string, hint: string) =>
  new UserError(`${path} is not what the run has: ${problem}`, { hint });
