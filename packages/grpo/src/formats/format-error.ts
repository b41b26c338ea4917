/**
 * A file's content is not what its format demands. The message names the file, and the line or tensor where
 * there is one; what the system refuses (no such file, disk full) is a `FileError` instead.
 */
export class FormatError extends Error {
  override readonly name: string = 'FormatError';

  constructor(
    /** The file, as the caller named it. */
    readonly file: string,
    problem: string,
    options?: ErrorOptions & {
      /** 1-based line of the problem, in formats that have lines. */ readonly line?: number;
    },
  ) {
    super(`${options?.line === undefined ? file : `${file}:${options.line}`}: ${problem}`, options);
    this.line = options?.line;
  }

  readonly line: number | undefined;
}

/** A file that must hold at least one row holds none. */
export class EmptyFile extends FormatError {
  override readonly name = 'EmptyFile';
}

/** `text` in quotes for an error message: at most 80 characters of it, control characters escaped. */
export function excerpt(text: string): string {
  // Twice 80 code units hold at least 80 whole characters, so no surrogate pair is cut.
  const head = Array.from(text.slice(0, 160)).slice(0, 80).join('');
  return head.length < text.length ? `${JSON.stringify(head)}…` : JSON.stringify(text);
}
