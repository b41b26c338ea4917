import type { Model } from '../models/index.js';
import type { CompletionRequest } from './completion-requests.js';
import { endingOf } from './stop.js';

/** A completion in the making; its place in the cache is its place among the active ones. */
export interface DecodingRow extends CompletionRequest {
  ids: number[];
  logprobs: number[];
  sampledLogprobs: number[];
  /** What each token was drawn from, where it is kept. */
  support: Uint8Array[];
  /** Whether a growing completion ends with its last token. */
  ends(ids: readonly number[]): boolean;
}

/** A row without tokens. */
export function rowOf(request: CompletionRequest, model: Model): DecodingRow {
  const ends = endingOf(model, request.options);
  return { ...request, ids: [], logprobs: [], sampledLogprobs: [], support: [], ends };
}

/** Whether no end token may be drawn yet. */
export const mustGoOn = ({ ids, options }: DecodingRow): boolean => ids.length < options.minNewTokens;
