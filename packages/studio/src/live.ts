/** Hears from the server that files have changed. */
import { refresh } from './client.js';

/** Changes within this time are one. */
const GATHER_MS = 300;

export type Connection = 'live' | 'lost';

const listeners = new Set<(connection: Connection) => void>();
let connection: Connection = 'live';

/** Tells whether the server still answers; for a page without a server never. */
export function onConnection(listener: (connection: Connection) => void): () => void {
  listener(connection);
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function tell(next: Connection): void {
  if (next === connection) return;
  connection = next;
  for (const listener of listeners) listener(next);
}

export function listen(): void {
  const events = new EventSource('/api/events');
  const changed = new Set<string>();
  let isWaiting = false;
  events.addEventListener('change', ({ data }: MessageEvent<string>) => {
    for (const path of (JSON.parse(data) as { paths: string[] }).paths) changed.add(path);
    // The first of several begins the wait.
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      const paths = [...changed];
      changed.clear();
      void refresh(paths);
    }, GATHER_MS);
  });
  events.addEventListener('open', () => tell('live'));
  events.addEventListener('error', () => tell('lost'));
}
