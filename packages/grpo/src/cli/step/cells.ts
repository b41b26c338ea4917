/** Numbers in the tables of a step; a dash where nothing was recorded. */
export const number = (value: number | undefined, digits = 4): string =>
  value === undefined ? '–' : Number.isFinite(value) ? fixed(value, digits) : String(value);

/** A value that rounds to 0 has no sign. */
const fixed = (value: number, digits: number) => {
  const text = value.toFixed(digits);
  return Number(text) === 0 ? text.replace('-', '') : text;
};

export const signed = (value: number | undefined, digits = 3): string =>
  value === undefined ? '–' : `${Number(number(value, digits)) > 0 ? '+' : ''}${number(value, digits)}`;
