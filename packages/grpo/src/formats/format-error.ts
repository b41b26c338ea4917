import { UserError } from '../config/errors.js';

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

/** `text` in quotes for an error message: at most 80 characters of it, what could steer a terminal escaped. */
export function excerpt(text: string): string {
  const head = firstOf(text, 80);
  const quoted = printable(JSON.stringify(head));
  return head.length < text.length ? `${quoted}…` : quoted;
}

/**
 * `text` for an error message, with control characters, and those that turn the direction of writing, as escapes.
 *
 * @param most - characters of it that are shown
 */
export function printable(text: string, most = 600): string {
  const head = firstOf(text, most);
  const escaped = head.replace(
    /[\p{Cc}\p{Bidi_Control}]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return head.length < text.length ? `${escaped}…` : escaped;
}

/** Twice as many code units hold at least as many whole characters, so no surrogate pair is cut. */
const firstOf = (text: string, most: number) =>
  Array.from(text.slice(0, 2 * most))
    .slice(0, most)
    .join('');
