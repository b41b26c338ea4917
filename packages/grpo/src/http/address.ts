import { lookup } from 'node:dns/promises';
import { BlockList, isIPv6 } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { UserError } from '../errors/user-error.js';

export const LOOPBACK = '127.0.0.1';
export const MOST_PORT = 65_535;

const loopbacks = new BlockList();
loopbacks.addSubnet('127.0.0.0', 8, 'ipv4');
loopbacks.addAddress('::1', 'ipv6');

/** An address that a server listens on. */
export interface Address {
  ip: string;
  /** Whether only this machine reaches it. */
  isLoopback: boolean;
  /** Names under which a browser may reach it, as a URL writes them; the first is that of the link. */
  names: readonly string[];
}

/**
 * Finds the address of a host of this machine.
 *
 * @throws UserError for a name that has none
 */
export async function addressOf(host: string): Promise<Address> {
  const { address: ip } = await lookup(host).catch((cause: Error) => {
    throw new UserError(`--host ${host} has no address: ${cause.message}`, { cause });
  });
  const isLoopback = loopbacks.check(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');
  const names =
    ip === '0.0.0.0' || ip === '::'
      ? [...ownAddresses(ip), hostname().toLowerCase(), 'localhost']
      : [host.toLowerCase(), ip, ...(isLoopback ? ['localhost'] : [])];
  return { ip, isLoopback, names: [...new Set(names.map(inUrl))] };
}

/** Addresses of this machine that a server on all of them answers at: those of others first. */
function ownAddresses(all: string): string[] {
  const found = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return found
    .filter(({ family }) => family === 'IPv4' || all === '::')
    .sort((a, b) => Number(a.internal) - Number(b.internal) || a.family.localeCompare(b.family))
    .map(({ address }) => address);
}

const inUrl = (name: string) => (isIPv6(name) ? `[${name}]` : name);
