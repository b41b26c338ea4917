/** Files that were written into the page: a bundle. */
import type { Files } from './messages.js';

/**
 * What the page holds: `<script type="text/plain" data-path data-modified>` with the bytes in base64, inside
 * `<div id="files">`; undefined for a page without such a place.
 */
export function filesInside(document: Document): Extract<Files, { kind: 'held' }> | undefined {
  const place = document.getElementById('files');
  if (!place) return undefined;
  const files = [...place.querySelectorAll('script')].map((script) => ({
    path: script.dataset.path!,
    modified: Number(script.dataset.modified),
    bytes: bytesOf(script.text),
  }));
  place.remove();
  return { kind: 'held', files };
}

function bytesOf(base64: string): Uint8Array {
  const text = atob(base64.trim());
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}
