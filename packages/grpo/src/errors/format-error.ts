import { UserError } from './user-error.js';

/**
 * A file's content is not what its format demands. The message names the file, and the line or tensor where
 * there is one; what the system refuses (no such file, disk full) is a `FileError` instead.
 */
export class FormatError extends UserError {
  constructor(
    /** The file, as the caller named it. */
    readonly file: string,
    problem: string,
    options?: {
      /** What to do about it. */ readonly hint?: string;
      readonly cause?: unknown;
      /** 1-based line of the problem, in formats that have lines. */ readonly line?: number | undefined;
    },
  ) {
    super(`${options?.line === undefined ? file : `${file}:${options.line}`}: ${problem}`, options);
    this.line = options?.line;
  }

  readonly line: number | undefined;
}

/** A file that must hold at least one row holds none. */
export class EmptyFile extends FormatError {}
