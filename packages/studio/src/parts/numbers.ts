/** Numbers for people. */

/** A count or a step, with all its digits. */
export const wholeNumber = (value: number): string => value.toLocaleString('en');

/** At most `digits` significant digits, with a minus sign that is no hyphen; a missing number is a dash. */
export function shortNumber(value: number | undefined, digits = 4): string {
  if (value === undefined) return '–';
  if (value < 0) return `−${shortNumber(-value, digits)}`;
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return '0';
  if (value >= 1e6 || value < 1e-4) return value.toExponential(Math.max(0, digits - 2));
  if (Number.isInteger(value)) return wholeNumber(value);
  return String(Number(value.toPrecision(digits)));
}

export const signedNumber = (value: number | undefined, digits = 4): string =>
  value !== undefined && value > 0 ? `+${shortNumber(value, digits)}` : shortNumber(value, digits);

export const percent = (share: number | undefined): string =>
  share === undefined ? '–' : `${Number((100 * share).toPrecision(3))} %`;
