/** The byte that a token like `<0xE2>` stands for, where it has that form. */
export function byteOf(token: string): number | undefined {
  const [, hex] = /^<0x([\dA-Fa-f]{2})>$/.exec(token) ?? [];
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

/** The ids of the tokens that stand for single bytes, by the byte. */
export function byteTokens(ids: ReadonlyMap<string, number>): (number | undefined)[] {
  return Array.from({ length: 256 }, (_, byte) =>
    ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
  );
}
