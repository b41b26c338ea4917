/** Numbers for people. */

/** A count or a step, with all its digits. */
export const wholeNumber = (value: number): string => value.toLocaleString('en');

/** At most `digits` significant ones; what is missing is a dash. */
export function shortNumber(value: number | undefined, digits = 4): string {
  if (value === undefined) return '–';
  if (!Number.isFinite(value)) return String(value);
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(0, digits - 2));
  if (Number.isInteger(value)) return wholeNumber(value);
  return String(Number(value.toPrecision(digits)));
}

export const signedNumber = (value: number | undefined, digits = 4): string =>
  value !== undefined && value > 0
    ? `+${shortNumber(value, digits)}`
    : shortNumber(value, digits).replace('-', '−');

export const percent = (share: number | undefined): string =>
  share === undefined ? '–' : `${Number((100 * share).toPrecision(3))} %`;
