/** Fields without those that are undefined. */
type Known<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/** Leaves out the keys whose value is undefined. */
export const known = <T extends object>(fields: T): Known<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Known<T>;
