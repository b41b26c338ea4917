import { findDebianTorch } from './debian.js';
import { inspectLayout, type Layout, type Missing } from './layout.js';
import { libtorchVariable } from './paths.js';
import { findPythonTorch, oldestWheel } from './python.js';
import { findCachedTorch } from './pytorch/cache.js';
import type { Libtorch, Source } from './record.js';
import { SetupError } from './run.js';
import type { Say } from './say.js';

/** One way to a libtorch. */
export interface Way {
  source: Source;
  /** Advice for the user to make this way work, as a sentence. */
  help: string;
  /** Looks, and installs where the way does so. Throws {@link SetupError} to end the search. */
  find(say: Say): Promise<Layout | Missing>;
}

/** The ways to a libtorch, in the order in which they are tried. */
export const ways: Way[] = [
  {
    source: 'LIBTORCH',
    help: 'Set LIBTORCH to an unpacked libtorch, to the torch folder of a Python installation, or to /usr.',
    find: async () => {
      const root = libtorchVariable();
      if (!root) return { why: 'not set' };
      const layout = inspectLayout(root);
      // Who names a libtorch does not want another one silently.
      if ('why' in layout) throw new SetupError(`LIBTORCH=${root} cannot be used: ${layout.why}.`);
      return layout;
    },
  },
  {
    source: 'python3',
    help: `Have python3 import PyTorch ${oldestWheel} or later, for example in a virtual environment.`,
    find: findPythonTorch,
  },
  {
    source: 'cache',
    help: 'Let pip or Node reach a package index with PyTorch, such as a mirror: GRPO_TORCH_INDEX=URL.',
    find: (say) => findCachedTorch(say),
  },
  {
    source: 'debian',
    help: 'On Debian or Ubuntu, as root: apt-get install libtorch-dev libopenblas0',
    find: findDebianTorch,
  },
];

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
