import { UsageError, UserError } from '../config/index.js';

/** For commands that look for faults: an unreadable file is exit code 2, so that 1 always means findings. */
export async function readable<T>(body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (!(cause instanceof UserError)) throw cause;
    throw new UsageError(cause.message, { cause, ...(cause.hint !== undefined && { hint: cause.hint }) });
  }
}
