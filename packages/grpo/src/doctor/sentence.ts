/** Numbers in sentences. */

type Value = number | string | boolean | undefined;

/** A value as a person reads it: whole numbers whole, others with three digits, texts quoted. */
export function formatValue(value: Value): string {
  if (value === undefined) return 'unknown';
  if (typeof value !== 'number') return typeof value === 'string' ? quote(value) : String(value);
  if (!Number.isFinite(value) || Number.isInteger(value)) return String(value);
  const size = Math.abs(value);
  const short = Number(value.toPrecision(3));
  return size >= 1e5 || size < 1e-3 ? short.toExponential() : short.toString();
}

/** Values with as many digits as it takes to tell their numbers apart. */
export function formatApart(values: readonly Value[]): string[] {
  let texts = values.map(formatValue);
  const different = new Set(values).size;
  for (let digits = 4; new Set(texts).size < different && digits <= 17; digits++)
    texts = values.map((value) =>
      typeof value === 'number' && Number.isFinite(value)
        ? String(Number(value.toPrecision(digits)))
        : formatValue(value),
    );
  return texts;
}

/** The tag of a finding's sentence: numbers as {@link formatValue} has them, texts as they are. */
export const say = (parts: TemplateStringsArray, ...values: Value[]): string =>
  String.raw(
    { raw: parts },
    ...values.map((value) => (typeof value === 'string' ? value : formatValue(value))),
  );

export const quote = (text: string): string => JSON.stringify(text);

/** A share as a percentage. */
export const percent = (share: number): string => `${Number((100 * share).toPrecision(3))} %`;
