import type { IncomingMessage } from 'node:http';
import { isOfOtherSite, requireOwnName } from '../../../http/own-name.js';
import { Refusal } from '../../../http/refusal.js';

/**
 * Refuses requests that are not of the page itself: another method than GET and HEAD, another name than those that the
 * server is bound to (a page of another site can point its own name here), another origin.
 *
 * @param hosts - names with port, as a URL has them
 * @throws Refusal
 */
export function admit(request: IncomingMessage, hosts: ReadonlySet<string>): void {
  const { method = '', headers } = request;
  requireOwnName(request, (host) => hosts.has(host), `http://${[...hosts][0]}/`);
  if (isOfOtherSite(request) || isFromOutside(request))
    throw new Refusal(403, 'This server answers to its own page only.');
  if (method !== 'GET' && method !== 'HEAD')
    throw new Refusal(405, 'This server only reads: GET and HEAD.', { allow: 'GET, HEAD' });
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0)
    throw new Refusal(413, 'A request has no body.', { connection: 'close' });
}

/** Whether a browser says that another site asks. Such a site may link to the page, but embed nothing of it. */
function isFromOutside({ headers, url = '' }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  return headers['sec-fetch-mode'] !== 'navigate' || /^\/api\//.test(url);
}
