/** Why `fetch` failed: its error says `fetch failed` or `terminated`, and its cause why. */
export function fetchReason(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message || String((cause as NodeJS.ErrnoException).code ?? cause.name);
}
