import type { OutgoingHttpHeaders } from 'node:http';
import { UserError } from '../../errors/user-error.js';
import { Refusal } from '../../http/refusal.js';
import { RequestAborted } from '../request-aborted.js';

/** vLLM's words for the kinds of errors. */
const TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  409: 'ConflictError',
  429: 'RateLimitError',
  500: 'InternalServerError',
  503: 'ServiceUnavailableError',
};

/** A request that is refused, as OpenAI's clients and vLLM's expect to hear it. */
export class ApiError extends Refusal {
  readonly param: string | undefined;

  /** @param options.param - the field of the request that is wrong */
  constructor(
    status: number,
    message: string,
    options: { param?: string | undefined; headers?: OutgoingHttpHeaders } = {},
  ) {
    super(status, message, options.headers);
    this.param = options.param;
  }
}

/** Seconds after which a request that found no place may come again. */
export const RETRY_AFTER = { 'retry-after': '1' } as const;

/** The error that a client hears. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof Refusal) return new ApiError(error.status, error.message, { headers: error.headers });
  if (error instanceof RequestAborted) return new ApiError(503, error.message, { headers: RETRY_AFTER });
  if (error instanceof UserError) {
    const { message, hint } = error;
    return new ApiError(400, hint === undefined ? message : `${message}. ${hint}`);
  }
  return new ApiError(500, 'The server failed to answer; its own output says why.');
}

export const errorBody = ({ message, status, param }: ApiError) => ({
  error: { message, type: TYPES[status] ?? 'BadRequestError', param: param ?? null, code: status },
});
