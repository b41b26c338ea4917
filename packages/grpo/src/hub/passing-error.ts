import { UserError } from '../errors/user-error.js';

/** It may work if it is tried again: a lost connection, a server that is busy. */
export class PassingError extends UserError {
  constructor(
    message: string,
    options: { hint?: string; cause?: unknown } = {},
    /** How long the server asks to wait. */
    readonly retryAfterSeconds = 0,
  ) {
    super(message, { hint: 'Run the command again later; what has been fetched is kept.', ...options });
  }
}
