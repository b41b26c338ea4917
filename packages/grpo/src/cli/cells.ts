/** Numbers in tables; a dash where there is none. */
export const number = (value: number | undefined, digits = 4): string =>
  value === undefined ? '–' : Number.isFinite(value) ? fixed(value, digits) : String(value);

/** A value that rounds to 0 has no sign. */
const fixed = (value: number, digits: number) => {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text;
};

export const signed = (value: number | undefined, digits = 3): string =>
  value === undefined ? '–' : `${Number(number(value, digits)) > 0 ? '+' : ''}${number(value, digits)}`;

/** The value of the record and that of its replay. */
export const both = (recorded: string, replayed: string): string =>
  recorded === replayed ? recorded : `${recorded} → ${replayed}`;
