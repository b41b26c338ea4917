const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'] as const;

/** A number of bytes for people: `1 byte`, `999 bytes`, `1.2 kB`, `107 MB`. */
export function byteCount(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  if (unit === 0) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`;
  return `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} ${UNITS[unit]}`;
}

/** `12GB`, `1.5 GiB`, `800 MB`. */
export const BYTES = /^\s*(\d+(?:\.\d+)?)\s*([kMGT])(i?)B\s*$/i;

/** The number of bytes that such text means, or undefined where it means none. */
export function parseByteCount(text: string): number | undefined {
  const [, number, unit, binary] = BYTES.exec(text) ?? [];
  if (number === undefined) return undefined;
  const power = 'kmgt'.indexOf(unit!.toLowerCase()) + 1;
  return Math.round(Number(number) * (binary ? 1024 : 1000) ** power);
}
