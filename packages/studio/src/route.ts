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

export const go = (link: string): void => {
  globalThis.location.hash = link;
};

/** Changes settings of the place that is shown, without a new entry in the history. */
export function setQuery(changed: Readonly<Record<string, string | number | undefined>>): void {
  const { parts, query } = parseRoute(globalThis.location.hash);
  globalThis.location.replace(linkTo(parts, { ...query, ...changed }));
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(globalThis.location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(globalThis.location.hash));
    globalThis.addEventListener('hashchange', changed);
    return () => globalThis.removeEventListener('hashchange', changed);
  }, []);
  return route;
}
