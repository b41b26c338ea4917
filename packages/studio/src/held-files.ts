/** Files that were written into the page, or lie beside it: a bundle. */
import type { Files } from './messages.js';

/**
 * A bundle has `<div id="files">` with a `<script type="text/plain" data-path data-size data-modified>` for each file,
 * which has the bytes (base64 of gzip); with `data-base`, the files lie below that address instead.
 *
 * @returns undefined for a page without such a place
 */
export function filesInside(document: Document): Extract<Files, { kind: 'held' | 'beside' }> | undefined {
  const place = document.getElementById('files');
  if (!place) return undefined;
  const files = [...place.querySelectorAll('script')].map(({ dataset, text }) => ({
    path: dataset.path!,
    size: Number(dataset.size),
    modified: Number(dataset.modified),
    text,
  }));
  place.remove();
  const { base } = place.dataset;
  return base === undefined
    ? { kind: 'held', files }
    : { kind: 'beside', base: new URL(base, document.baseURI).href, files };
}

/** The place on the page that a bundle opens at. */
export const startOf = (document: Document): string | undefined =>
  document.getElementById('files')?.dataset.start;
