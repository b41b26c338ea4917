/** Fewer characters are no key, and words would disappear from messages. */
const LEAST = 8;

/** The parts of an address that is a secret, as a server or a library may repeat them; the longest first. */
export function secretsIn(address: string): string[] {
  const { pathname, search, username, password } = new URL(address);
  const parts = [username, password, ...`${pathname}${search}`.split(/[/?&=]/)];
  const keys = parts.filter((part) => part.length >= LEAST);
  const whole = [address, pathname + search, search, pathname].filter((part) => part.length > 1);
  return [...new Set([...whole, ...keys])].sort((a, b) => b.length - a.length);
}

/** A text of somebody else's, to be shown. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
