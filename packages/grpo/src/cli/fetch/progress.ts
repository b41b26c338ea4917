import { byteCount } from '../../errors/byte-count.js';
import type { FetchRequest, FetchWatcher } from '../../hub/index.js';
import type { Reporter } from '../live.js';

/** Shows a fetch: a line per file, and how far the one is that is coming. */
export function fetchProgress({ name, revision }: FetchRequest, reporter: Reporter): FetchWatcher {
  return {
    planned({ commit, files, bytes, missingBytes }) {
      const some = missingBytes > 0 ? `${byteCount(missingBytes)} of them to get` : 'nothing to get';
      const rest = missingBytes === bytes ? '' : `, ${some}`;
      reporter.note(`${name} at ${commit} (${revision}): ${files} files, ${byteCount(bytes)}${rest}`);
    },
    progress: ({ path, size }, received) =>
      reporter.progress({ stage: path, done: received, total: size, unit: 'bytes' }),
    done: (file, how) =>
      reporter.note(`${file.path}  ${byteCount(file.size)}${how === 'present' ? ', already there' : ''}`),
  };
}
