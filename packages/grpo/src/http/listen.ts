import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { UserError } from '../errors/user-error.js';

/**
 * Begins to listen on the first of these ports that is free.
 *
 * @returns the port; undefined where all are taken
 * @throws UserError: the system allows no listening there
 */
export async function listen(
  server: Server,
  ip: string,
  ports: readonly number[],
): Promise<number | undefined> {
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
  return undefined;
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied; ports below 1024 are for the administrator',
  EADDRNOTAVAIL: 'this machine does not have that address',
};
