import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '../errors/user-error.js';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A key to the hub, and where it came from, for messages. */
export interface Token {
  value: string;
  source: string;
}

/** The hub's address without a slash at the end: `HF_ENDPOINT`, or huggingface.co. */
export function hubEndpoint(env: Environment = process.env): string {
  const given = env.HF_ENDPOINT?.trim() || 'https://huggingface.co';
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new UserError(`HF_ENDPOINT must be the address of a hub, found '${given}'`, {
      hint: 'Write it like https://huggingface.co, or unset it.',
    });
  }
  return given.replace(/\/+$/, '');
}

/** The cache folder that Hugging Face's tools share: `HF_HUB_CACHE`, or `hub` below `HF_HOME`, or ~/.cache/huggingface/hub. */
export function hubCache(env: Environment = process.env): string {
  return expandHome(env.HF_HUB_CACHE || env.HUGGINGFACE_HUB_CACHE || join(hubHome(env), 'hub'));
}

/** `HF_TOKEN`, or what `hf auth login` left in the token file; undefined without either. */
export function hubToken(env: Environment = process.env): Token | undefined {
  for (const name of ['HF_TOKEN', 'HUGGING_FACE_HUB_TOKEN']) {
    const value = env[name]?.trim();
    if (value) return { value, source: name };
  }
  const file = expandHome(env.HF_TOKEN_PATH || join(hubHome(env), 'token'));
  try {
    const value = readFileSync(file, 'utf8').trim();
    return value === '' ? undefined : { value, source: file };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw new UserError(`cannot read the token file ${file}: ${(error as Error).message}`, { cause: error });
  }
}

const hubHome = (env: Environment) =>
  expandHome(env.HF_HOME || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'huggingface'));

/** Shells leave a `~` in quotes as it is; Python's tools expand it. */
const expandHome = (path: string) => (/^~(\/|$)/.test(path) ? join(homedir(), path.slice(1)) : path);
