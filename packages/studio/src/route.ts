/** The page's address: `#/run/ID/step/12/completion/3?colour=ratio`. All that a user chose stands in it. */
import { useEffect, useState } from 'preact/hooks';

export interface Route {
  /** Decoded parts of the path. */
  parts: readonly string[];
  query: Readonly<Record<string, string>>;
}

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  return {
    parts: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** A link that someone cut off may end in half an escape. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A whole number of an address; undefined for anything else. */
export const parseWhole = (text: string | undefined): number | undefined =>
  /^\d+$/.test(text ?? '') ? Number(text) : undefined;

/** The address of a place; settings that are undefined or empty are left out. */
export function linkTo(
  parts: readonly (string | number)[],
  query: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const told = Object.entries(query).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, String(value)]],
  );
  const path = `#/${parts.map((part) => encodeURIComponent(part)).join('/')}`;
  return told.length > 0 ? `${path}?${new URLSearchParams(told)}` : path;
}

/** A view of a run: its curves, its findings, a step, the loss of a step, or a completion. */
export interface Place {
  run: string;
  step?: number | undefined;
  completion?: number | undefined;
  view?: 'findings' | 'loss';
}

export function linkToPlace(
  { run, step, completion, view }: Place,
  query: Parameters<typeof linkTo>[1] = {},
): string {
  const inside = completion === undefined ? [] : ['completion', completion];
  return linkTo(
    ['run', run, ...(step === undefined ? [] : ['step', step, ...inside]), ...(view ? [view] : [])],
    query,
  );
}

/** Addresses that the page has shown, by their link without settings. */
const shown = new Map<string, string>();

/** The address of a place as it was shown last, with what the reader chose there. */
export function linkBackTo(parts: readonly string[]): string {
  const link = linkTo(parts);
  return shown.get(link) ?? link;
}

export const go = (link: string): void => {
  globalThis.location.hash = link;
};

/** Changes settings of the place that is shown, without a new entry in the history. */
export function setQuery(changed: Readonly<Record<string, string | number | undefined>>): void {
  const { parts, query } = parseRoute(globalThis.location.hash);
  globalThis.location.replace(linkTo(parts, { ...query, ...changed }));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(shownRoute);
  useEffect(() => {
    const changed = () => setRoute(shownRoute());
    globalThis.addEventListener('hashchange', changed);
    return () => globalThis.removeEventListener('hashchange', changed);
  }, []);
  return route;
}

function shownRoute(): Route {
  const route = parseRoute(globalThis.location.hash);
  shown.set(linkTo(route.parts), linkTo(route.parts, route.query));
  return route;
}
