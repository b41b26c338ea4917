import { findDebianTorch } from './debian.js';
import { inspectLayout } from './layout.js';
import { libtorchVariable } from './paths.js';
import { findPythonTorch, oldestWheel } from './python.js';
import { SetupError } from './run.js';
import type { Way } from './search.js';
import { findCachedTorch, pinnedTorch } from './wheel.js';

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
      if ('why' in layout) throw new SetupError(`LIBTORCH=${root} is no libtorch: ${layout.why}.`);
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
    help: `Let pip reach torch==${pinnedTorch}; on Debian or Ubuntu pip comes with: apt-get install python3-pip`,
    find: (say) => findCachedTorch(say),
  },
  {
    source: 'debian',
    help: 'On Debian or Ubuntu: apt-get install libtorch-dev libopenblas0',
    find: findDebianTorch,
  },
];
