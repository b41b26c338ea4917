import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../../../config/index.js';

/** GRPO on the keys of a telephone. */
const PORT = 4776;
/** Ports that are tried from there on. */
const TRIES = 100;

/**
 * Begins to listen.
 *
 * @param asked - the port that must be free; without it the first free one from 4776 on
 * @returns the port
 */
export async function listen(server: Server, ip: string, asked: number | undefined): Promise<number> {
  const ports = asked === undefined ? Array.from({ length: TRIES }, (_, i) => PORT + i) : [asked];
  for (const port of ports) {
    try {
      server.listen({ port, host: ip });
      await once(server, 'listening');
      return (server.address() as AddressInfo).port;
    } catch (error) {
      const cause = error as NodeJS.ErrnoException;
      if (cause.code === 'EADDRINUSE') continue;
      throw new UserError(`cannot listen on ${ip}, port ${port}: ${REASONS[cause.code!] ?? cause.message}`, {
        cause,
      });
    }
  }
  throw asked === undefined
    ? new UserError(`all ports from ${PORT} to ${PORT + TRIES - 1} are taken`, {
        hint: 'Choose one: --port N',
      })
    : new UserError(`port ${asked} is taken`, { hint: 'Without --port, the next free one is used.' });
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; ports below 1024 are for the administrator',
  EADDRNOTAVAIL: 'this machine does not have that address',
};
