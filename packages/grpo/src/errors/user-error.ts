/** An error that a person can act on: printed as one clean message, without a stack. */
export class UserError extends Error {
  /** What to do about it, one or more lines. */
  readonly hint: string | undefined;

  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.hint = options.hint;
  }
}

/** The command line or the configuration is wrong: nothing was started. Exit code 2. */
export class UsageError extends UserError {}
