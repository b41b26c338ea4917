/** Numbers in the tables of a step; a dash where nothing was recorded. */
export const number = (value: number | undefined, digits = 4): string =>
  value === undefined ? '–' : Number.isFinite(value) ? value.toFixed(digits) : String(value);

export const signed = (value: number | undefined, digits = 3): string =>
  value === undefined ? '–' : `${value > 0 ? '+' : ''}${number(value, digits)}`;
