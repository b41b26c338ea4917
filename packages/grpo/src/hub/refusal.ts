/** What a hub, or the way to it, says no with: in words, with what to do. */
import { UserError } from '../errors/user-error.js';
import { fetchReason } from '../http/fetch-reason.js';
import { retryAfter } from '../http/retry-after.js';
import type { Token } from './hub-settings.js';
import { PassingError } from './passing-error.js';
import type { Repository } from './repository.js';

/** What a request is about. */
export interface Subject extends Repository {
  revision: string;
  /** A file of the repository; undefined for what is asked about all of it. */
  file?: string;
}

/** The hub has no such repository, or hides it from who asks. */
export class UnknownRepository extends UserError {}

/** The error for an answer that is not a success. */
export function refusal(response: Response, subject: Subject, token: Token | undefined): UserError {
  const { status, headers } = response;
  const { host } = new URL(response.url);
  const { kind, name, revision, file } = subject;
  const said = headers.get('x-error-message');
  const answer = `${status}${said === null ? '' : `: ${said}`}`;
  if (status === 408 || status === 429 || status >= 500) {
    const seconds = Math.ceil(retryAfter(headers.get('retry-after')) ?? 0);
    const busy = status === 429 ? 'limits the number of requests' : 'is in trouble';
    const hint = `Run the command again later; what has been fetched is kept.${status === 429 && !token ? ' With a token in HF_TOKEN the limit is higher.' : ''}`;
    return new PassingError(`${host} ${busy} (${answer})`, { hint }, seconds);
  }
  if (status === 416)
    return new PassingError(`${host} says that ${file ?? name} has no more bytes (${answer})`);
  const page = `${new URL(response.url).origin}/${kind === 'dataset' ? 'datasets/' : ''}${name}`;
  switch (headers.get('x-error-code')) {
    case 'GatedRepo':
      return new UserError(`the ${kind} ${name} is gated: its owner grants access on request (${answer})`, {
        hint: `Ask for access on ${page}, then ${token ? `see that ${token.source} holds a token of that account that may read gated repositories` : 'put a token of that account into HF_TOKEN (Settings, Access Tokens)'}.`,
      });
    case 'RevisionNotFound':
      return new UserError(`the ${kind} ${name} has no revision '${revision}' (${answer})`, {
        hint: `A revision is a branch, a tag or a commit; ${page}/tree/main lists them.`,
      });
  }
  if (file !== undefined && status === 404) {
    return new UserError(`${host} does not have ${file} of ${name}, although it lists the file (${answer})`);
  }
  if (status === 404 || (status === 401 && !token)) {
    const check = `Check the name${kind === 'model' ? '; a dataset needs --dataset' : ''}.`;
    return new UnknownRepository(`${host} has no public ${kind} ${name} (${answer})`, {
      hint: token
        ? `${check} A private one must be open to the account of the token in ${token.source}.`
        : `${check} A private one needs a token in HF_TOKEN.`,
    });
  }
  if (token && (status === 401 || status === 403)) {
    return new UserError(`${host} does not let the token of ${token.source} read ${name} (${answer})`, {
      hint: 'It may have expired, be mistyped, or lack the right to read: make a new one under Settings, Access Tokens.',
    });
  }
  return new UserError(`${host} refuses to give ${file ?? name} (${answer})`);
}

/** Causes that stay: trying again a second later does not help. */
const LASTING = /^(ENOTFOUND|ECONNREFUSED|ERR_INVALID_URL|ERR_TLS|.*CERT|.*SIGNATURE|.*ISSUER)/;

/** A failed connection as an error for people; what is none passes unchanged. */
export function unreachable(error: unknown, url: string): unknown {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return error;
  const { code = '' } = error.cause as NodeJS.ErrnoException;
  const reason = fetchReason(error);
  const { origin } = new URL(url);
  const options = { hint: advice(code), cause: error };
  return LASTING.test(code)
    ? new UserError(`cannot reach ${origin}: ${reason}`, options)
    : new PassingError(`the connection to ${origin} broke: ${reason}`, options);
}

function advice(code: string): string {
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return 'The certificate is not trusted. Where a proxy signs connections, give its certificate in NODE_EXTRA_CA_CERTS.';
  }
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].find(
    (name) => process.env[name],
  );
  if (proxied !== undefined && !process.env.NODE_USE_ENV_PROXY) {
    return `${proxied} is set: Node uses it from version 24 on, with NODE_USE_ENV_PROXY=1.`;
  }
  return 'Check the connection. HF_ENDPOINT names another hub or a mirror; what has been fetched is kept.';
}
