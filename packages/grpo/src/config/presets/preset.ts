/** A value with the place that it was published in. */
export interface CitedValue {
  value: unknown;
  /** A paper with its section, a version of TRL, or a file of the program that trained so. */
  source: string;
}

/** A part of a published recipe that our settings cannot express. */
export interface UnsupportedSetting {
  what: string;
  /** Why not, and the setting that runs in its place. */
  why: string;
}

/** Training settings that were published together; models and data are not part of it. */
export interface Preset {
  /** Description in one line. */
  summary: string;
  /** By dotted key. A key that is not here keeps our default. */
  values: Readonly<Record<string, CitedValue>>;
  unsupported: readonly UnsupportedSetting[];
}

/** Values that have one source. */
export function cite(source: string, values: Readonly<Record<string, unknown>>): Record<string, CitedValue> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, { value, source }]));
}
