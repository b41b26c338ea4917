import { createHash } from 'node:crypto';
import { setImmediate as othersTurn } from 'node:timers/promises';
import type { GivenPath } from '../given-paths.js';
import { type ListEntry, listFolder } from './list-folder.js';
import { pathOf } from './virtual-path.js';

/** Folders that are watched, at most; those that nobody asked for longest are let go. */
const MOST = 4096;
/** As many are looked at before requests have their turn. */
const AT_ONCE = 32;

interface Watched {
  names: readonly string[];
  /** The folder's list as the page may have seen it. */
  digest: string;
  /** In which turn a change was found last; 0 for never. */
  turn: number;
}

/** Finds which of the folders that the page has seen have changed: in their list, or in the size or time of a file. */
export class ChangeWatch {
  readonly #folders = new Map<string, Watched>();
  #turn = 0;

  constructor(private readonly given: readonly GivenPath[]) {}

  /** Turns that found a change. */
  get turn(): number {
    return this.#turn;
  }

  /**
   * Watches a folder from now on. One that is watched keeps the list that others have seen.
   *
   * @param entries - its list, as the page is told
   */
  watch(names: readonly string[], entries?: readonly ListEntry[]): void {
    const path = pathOf(names);
    const digest = () => digestOf(entries ?? listFolder(this.given, names));
    const watched = this.#folders.get(path) ?? { names, digest: digest(), turn: 0 };
    this.#folders.delete(path);
    this.#folders.set(path, watched);
    if (this.#folders.size > MOST) this.#folders.delete(this.#folders.keys().next().value!);
  }

  /** Looks at all folders once; returns those that have changed since the last look. */
  async look(): Promise<string[]> {
    const changed: string[] = [];
    for (const [i, [path, watched]] of [...this.#folders].entries()) {
      if (i % AT_ONCE === AT_ONCE - 1) await othersTurn();
      const digest = this.#digestNow(watched.names);
      if (digest === watched.digest) continue;
      watched.digest = digest;
      watched.turn = this.#turn + 1;
      changed.push(path);
    }
    if (changed.length > 0) this.#turn++;
    return changed;
  }

  /** The folders that have changed after a turn. */
  changedAfter(turn: number): string[] {
    return [...this.#folders].filter(([, watched]) => watched.turn > turn).map(([path]) => path);
  }

  /** A folder that can no longer be listed has changed, too: the page asks for it and is told why. */
  #digestNow(names: readonly string[]): string {
    try {
      return digestOf(listFolder(this.given, names));
    } catch (error) {
      return String(error);
    }
  }
}

/** The time of a folder changes with what is in it, of which its own list tells. */
const digestOf = (entries: readonly ListEntry[]) => {
  const told = entries.map((entry) => (entry.isFolder ? entry.name : entry));
  return createHash('sha256').update(JSON.stringify(told)).digest('base64');
};
