/**
 * A function of an object that is computed once for each, as long as the object is in use: several checks ask for the
 * same view of a record. What it is computed from must not change afterwards.
 */
export function once<K extends object, V>(compute: (key: K) => V): (key: K) => V {
  const known = new WeakMap<K, { value: V }>();
  return (key) => {
    let entry = known.get(key);
    if (!entry) {
      entry = { value: compute(key) };
      known.set(key, entry);
    }
    return entry.value;
  };
}

/** The same of two objects. */
export function onceOfBoth<A extends object, B extends object, V>(
  compute: (a: A, b: B) => V,
): (a: A, b: B) => V {
  const ofFirst = once((a: A) => once((b: B) => compute(a, b)));
  return (a, b) => ofFirst(a)(b);
}
