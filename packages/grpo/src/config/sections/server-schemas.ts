import { z } from 'zod';

/** A host, and perhaps a path; a password has no place in a file of settings. */
const SERVER_URL = /^https?:\/\/[^\s/@?#]+(\/[^\s?#@]*)?$/;

/** The address of a server, without a slash at its end. */
export const serverUrl = z
  .string()
  .regex(SERVER_URL, 'must be http://HOST:PORT or https://HOST, without a user or a query')
  .transform((url) => url.replace(/\/+$/, ''));

/** The name of an environment variable, where a secret is. */
export const environmentVariable = z
  .string()
  .regex(/^[A-Za-z_]\w*$/, 'must be the name of an environment variable');
