import { byteCount } from '../formats/byte-count.js';
import type { FetchRequest, FetchWatcher, RemoteFile } from '../hub/index.js';
import { formatDuration } from './duration.js';
import type { Output } from './live.js';

const CLEAR_LINE = '\r\x1b[2K';
/** How often a line is rewritten on a terminal. */
const REDRAW_MS = 100;

/** Shows a fetch: a line a file, rewritten on a terminal; elsewhere a line every 10 % of a file. */
export function fetchProgress(
  { name, revision }: FetchRequest,
  stream: Output,
): { watcher: FetchWatcher; note(text: string): void; close(): void } {
  const live = stream.isTTY === true && process.env.TERM !== 'dumb';
  let drawn = false;
  const clear = () => {
    if (drawn) stream.write(CLEAR_LINE);
    drawn = false;
  };
  const note = (text: string) => {
    clear();
    stream.write(`${text}\n`);
  };
  let current: Pace | undefined;
  let shown = 0;
  const progress = (file: RemoteFile, received: number) => {
    if (current?.file !== file || received < current.received) {
      current = { file, received, begun: received, since: performance.now() };
      shown = live ? 0 : tenth(file, received);
    }
    current.received = received;
    if (live) {
      if (performance.now() - shown < REDRAW_MS) return;
      shown = performance.now();
      stream.write(CLEAR_LINE + describePace(current).slice(0, (stream.columns || 80) - 1));
      drawn = true;
    } else if (tenth(file, received) > shown && received < file.size) {
      shown = tenth(file, received);
      note(describePace(current));
    }
  };
  const watcher: FetchWatcher = {
    planned({ commit, files, bytes, missingBytes }) {
      const some = missingBytes > 0 ? `${byteCount(missingBytes)} of them to get` : 'nothing to get';
      const rest = missingBytes === bytes ? '' : `, ${some}`;
      note(`${name} at ${commit} (${revision}): ${files} files, ${byteCount(bytes)}${rest}`);
    },
    progress,
    done: (file, how) =>
      note(`${file.path}  ${byteCount(file.size)}${how === 'present' ? ', already there' : ''}`),
  };
  return { watcher, note, close: clear };
}

/** How far a file is, and since when it has come how fast. */
interface Pace {
  file: RemoteFile;
  received: number;
  /** Bytes that were there at the time `since`, in milliseconds. */
  begun: number;
  since: number;
}

const tenth = (file: RemoteFile, received: number) => Math.floor((10 * received) / file.size);

function describePace({ file, received, begun, since }: Pace): string {
  const percent = `${Math.floor((100 * received) / file.size)}%`.padStart(4);
  const seconds = (performance.now() - since) / 1000;
  const speed = (received - begun) / seconds;
  const left =
    speed > 0
      ? `  ${byteCount(Math.round(speed))}/s  left ${formatDuration((file.size - received) / speed)}`
      : '';
  return `${file.path} ${percent}  ${byteCount(received)} of ${byteCount(file.size)}${left}`;
}
