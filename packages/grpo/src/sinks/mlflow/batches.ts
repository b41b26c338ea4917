/** Bytes of what is logged in one request; the server takes 1 MB, with the names around it. */
const MOST_BYTES = 900_000;

/** Cuts a list into pieces that the server takes in one request. */
export function batches<T extends object>(list: readonly T[], most: number): T[][] {
  const pieces: T[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of list) {
    const size = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes + size > MOST_BYTES || pieces.at(-1)!.length === most) {
      pieces.push([]);
      bytes = 0;
    }
    pieces.at(-1)!.push(item);
    bytes += size;
  }
  return pieces;
}

/** Characters of a value of a parameter or a tag that every server takes. */
const MOST = 250;

export const shortText = (text: string): string =>
  text.length > MOST ? `${text.slice(0, MOST - 1)}…` : text;
