import type { IncomingMessage } from 'node:http';
import { Refusal } from './refusal.js';

/**
 * Refuses requests for another name than the server's own: a page of another site can point its own name here.
 *
 * @param isOwn - asked with the host header
 * @param url - where the server answers
 * @throws Refusal
 */
export function requireOwnName(
  { headers, rawHeaders }: IncomingMessage,
  isOwn: (host: string) => boolean,
  url: string,
): void {
  const count = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'host').length;
  if (count !== 1 || !isOwn(headers.host!))
    throw new Refusal(421, `This server answers at ${url} only, to no other name or port.`);
}

/** Whether a browser says that a page of another site asks. */
export const isOfOtherSite = ({ headers: { origin, host } }: IncomingMessage): boolean =>
  origin !== undefined && origin !== `http://${host}`;
