/** A value with the place that it was published in. */
export interface CitedValue {
  value: unknown;
  /** A paper with its section, a version of TRL, or a file of the program that trained so. */
  source: string;
}

/** What a published recipe has and our settings cannot say. */
export interface UnsupportedSetting {
  what: string;
  /** Why not, and what runs in its place. */
  why: string;
}

/** Training settings that were published together; models and data are not part of it. */
export interface Preset {
  /** What it is, in one line. */
  summary: string;
  /** By dotted key. What is not here keeps our default. */
  values: Readonly<Record<string, CitedValue>>;
  unsupported: readonly UnsupportedSetting[];
}

/** Values that have one source. */
export function cite(source: string, values: Readonly<Record<string, unknown>>): Record<string, CitedValue> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, source }]));
}
