import { findCachedTorch } from './cache.js';
import { findDebianTorch } from './debian.js';
import { inspectLayout } from './layout.js';
import { libtorchVariable } from './paths.js';
import { findPythonTorch, oldestWheel } from './python.js';
import { SetupError } from './run.js';
import type { Way } from './search.js';

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
