/** A shorter beginning is not folded. */
const LEAST_SHARED = 20;

/** Returns the length of the shared beginning that is folded: up to the end of a word, 0 where that is too short. */
export function sharedEnd(text: string, shared: number): number {
  const cut = shared < text.length ? text.slice(0, shared).search(/[\p{L}\p{N}\p{M}]+$/u) : -1;
  const isInWord = cut >= 0 && /^[\p{L}\p{N}\p{M}]/u.test(text.slice(shared, shared + 2));
  const end = isInWord ? cut : shared;
  return end < LEAST_SHARED ? 0 : end;
}
