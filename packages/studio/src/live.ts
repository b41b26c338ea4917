/** Listens for changes of the files on the server. */
import { refresh } from './client.js';

/** Changes within this time are read together. */
const GATHER_MS = 300;

export type Connection = 'live' | 'lost';

const listeners = new Set<(connection: Connection) => void>();
let connection: Connection = 'live';

/** Reports whether the server still answers. A page without a server hears `live` once. */
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

/**
 * Listens while the page is seen. A browser opens six connections to a server and no more, for all its tabs: hidden ones
 * would leave none to the page in front.
 */
export function listen(): void {
  let events: EventSource | undefined;
  let lastEvent = '';
  const changed = new Set<string>();
  const gather = ({ data }: MessageEvent<string>) => {
    const isFirst = changed.size === 0;
    for (const path of (JSON.parse(data) as { paths: string[] }).paths) changed.add(path);
    if (!isFirst) return;
    setTimeout(() => {
      const paths = [...changed];
      changed.clear();
      void refresh(paths);
    }, GATHER_MS);
  };
  const open = () => {
    events = new EventSource(`/api/events?${new URLSearchParams({ after: lastEvent })}`);
    for (const name of ['hello', 'change'])
      events.addEventListener(name, (event: MessageEvent<string>) => {
        lastEvent = event.lastEventId;
      });
    events.addEventListener('change', gather);
    events.addEventListener('open', () => tell('live'));
    events.addEventListener('error', () => tell('lost'));
  };
  const follow = () => {
    if (!document.hidden && !events) open();
    if (!document.hidden) return;
    events?.close();
    events = undefined;
  };
  document.addEventListener('visibilitychange', follow);
  follow();
}
