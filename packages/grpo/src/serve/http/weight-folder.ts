import { realpathSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';
import { ApiError } from './api-error.js';

/**
 * The real path of a folder that a client names, which lies below a folder that clients may load from, whatever links
 * lead to it. What lies elsewhere is refused in the same words whether it is there or not.
 *
 * @param allowed - real paths
 * @throws ApiError
 */
export function weightFolder(path: string, allowed: readonly string[], param: string): string {
  const isWithin = (one: string) => allowed.some((folder) => !/^\.\.(\/|\\|$)/.test(relative(folder, one)));
  const asked = resolve(path);
  const real = realPath(asked);
  if (real !== undefined && isWithin(real)) return real;
  if (real === undefined && isWithin(asked))
    throw new ApiError(404, `${param}: there is no folder ${path} on this machine.`, { param });
  const from =
    allowed.length === 0
      ? 'This server loads none: it was started without --weights-from FOLDER.'
      : `This server loads from ${allowed.map((folder) => folder + sep).join(', ')} only (--weights-from).`;
  throw new ApiError(403, `${param}: ${path} is no folder that clients may load weights from. ${from}`, {
    param,
  });
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    // It is not there, or not for this user: both are answered alike.
    return undefined;
  }
}
