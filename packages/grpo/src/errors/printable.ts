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
