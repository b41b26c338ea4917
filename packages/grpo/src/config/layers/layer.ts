import { nearestName } from '../../errors/nearest-name.js';
import { findKey, keys, sections } from '../keys.js';
import { oursOf } from '../other-names.js';

/** A value with its source. */
export interface Entry {
  value: unknown;
  /** The place that gave it: `run.yaml:12`, `command line`, … */
  source: string;
  /** Nobody gave it by hand: it came with a preset, or with a record that is replayed. */
  inherited?: true;
  /** Places of parts of a list: `rewards[0].weight` may have its own line. */
  locate?(rest: readonly PropertyKey[]): string;
}

/** Values from one place, by dotted key. A later layer wins over an earlier one, leaf by leaf. */
export interface Layer {
  entries: Map<string, Entry>;
  /** One message per entry that could not be read. */
  problems: string[];
}

/** Several layers as one; later ones win. */
export function mergedLayer(layers: readonly Layer[]): Layer {
  return {
    entries: new Map(layers.flatMap(({ entries }) => [...entries])),
    problems: layers.flatMap(({ problems }) => problems),
  };
}

/** Keys of earlier versions, and the keys that replace them. */
const REPLACED: ReadonlyMap<string, string> = new Map([
  [
    'rollout.batchSize',
    'how many completions are decoded at once follows from the bytes that they take. Take it out; memory=12GB, for instance, bounds what a run takes.',
  ],
]);

/** The message for a path that is no key: names the nearest one, or the section's keys. */
export function notAKey(path: readonly string[], source: string): string {
  const written = path.join('.');
  if (sections.includes(written)) {
    const inside = keys.filter((key) => key.section === written).map((key) => key.path.split('.').at(-1));
    return `${written} (${source}) is a section with the keys ${inside.join(', ')}; it takes no value of its own.`;
  }
  if (path.some((part) => part.includes('.')) && findKey(written)) {
    return `${written} (${source}): a file nests its keys. Write ${written.replace('.', ': { ')}: … }.`;
  }
  const instead = REPLACED.get(written);
  if (instead !== undefined) return `${written} (${source}) is gone: ${instead}`;
  const known = keys.map((key) => key.path);
  const begun = written.includes('.') ? undefined : sections.find((section) => written.startsWith(section));
  const best =
    begun ?? oursOf(written) ?? nearestName(written, written.includes('.') ? known : [...known, ...sections]);
  return `Unknown key ${written} (${source}). The nearest known key is ${best}.`;
}

/** The message for a key that has no effect where it is given. */
export function notRead(who: string, path: string, source: string, reads: (path: string) => boolean): string {
  const readable = keys.map((key) => key.path).filter(reads);
  return `${who} does not read ${path} (${source}). The nearest key that it reads is ${nearestName(path, readable)}.`;
}

/** Reads a nested plain object, such as a preset: `{ rollout: { group: 4 } }`. */
export function objectLayer(source: string, values: object): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  const visit = (value: object, path: string[]) => {
    for (const [name, child] of Object.entries(value)) {
      const here = [...path, name];
      const written = here.join('.');
      if (child === undefined) continue;
      if (findKey(written) && !name.includes('.')) layer.entries.set(written, { value: child, source });
      else if (sections.includes(written) && typeof child === 'object' && child !== null) visit(child, here);
      else layer.problems.push(notAKey(here, source));
    }
  };
  visit(values, []);
  return layer;
}
