import type { Layout, Missing } from './layout.js';
import type { Libtorch, Source } from './record.js';
import { SetupError } from './run.js';
import type { Say } from './say.js';

/** One way to a libtorch. */
export interface Way {
  source: Source;
  /** What the user can do to make this way work, as a sentence. */
  help: string;
  /** Looks, and installs where the way does so. Throws {@link SetupError} to end the search. */
  find(say: Say): Promise<Layout | Missing>;
}

/**
 * Tries the ways in their order and returns the first libtorch.
 * @throws SetupError that names every way, why it failed and what to do, when none led anywhere.
 */
export async function search(ways: Way[], say: Say): Promise<Libtorch> {
  const failures: string[] = [];
  for (const { source, help, find } of ways) {
    const result = await find(say);
    if (!('why' in result)) return { source, ...result };
    failures.push(`  ${failures.length + 1}. ${source}: ${result.why}.\n     ${help}`);
  }
  throw new SetupError(`No libtorch was found. Any one of these ways will do:\n${failures.join('\n')}`);
}
