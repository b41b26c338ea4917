/** Seconds that a `Retry-After` header asks for: a number of them, or a date. Undefined where it says neither. */
export function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = header.trim() === '' ? Number.NaN : Number(header);
  if (seconds >= 0) return seconds;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
