import { TokenSets } from '../formats/token-sets.js';
import type { Model } from '../models/index.js';
import type { Completion, SamplingOptions } from '../rollout/index.js';
import { endingOf } from '../rollout/stop.js';
import { asksSupport, type RemoteCompletion } from './dialect.js';

/** No token that was drawn is less likely; servers write −9999 for a log-prob of −∞. */
const LEAST = -1000;

/** Rounding of a log-prob of 0. */
const MOST = 1e-6;

/** What a completion is held to. */
export interface Expected {
  model: Model;
  prompt: readonly number[];
  /** In tokens. */
  limit: number;
  options: SamplingOptions;
}

/**
 * A server's completion, if it is one that could have been sampled here.
 *
 * @returns it without its source; or what is wrong with it, in words. After `another prompt` no other one will do
 */
export function checkCompletion(
  remote: RemoteCompletion,
  { model, prompt, limit, options }: Expected,
): Omit<Completion, 'source'> | string {
  if (!isPrompt(remote.prompt, prompt)) return 'another prompt';
  const { ids, logprobs, support, finishReason, weights } = remote;
  const { vocabSize } = model.decoder.config;
  const foreign = ids.find((id) => id < 0 || id >= vocabSize);
  if (foreign !== undefined) return `token ${foreign} is outside of the vocabulary of ${vocabSize}`;
  if (logprobs.length !== ids.length) return `${ids.length} tokens came with ${logprobs.length} log-probs`;
  const wrong = logprobs.findIndex((one) => one === null || !(one >= LEAST && one <= MOST));
  if (wrong >= 0) return `the log-prob of token ${wrong + 1} is ${logprobs[wrong]}`;
  const kept = asksSupport(options) ? keptSets(ids, support, vocabSize) : undefined;
  if (typeof kept === 'string') return kept;
  const ending = firstEnding(ids, model, options);
  if (ending >= 0 && ending < ids.length - 1)
    return `it goes on after its end, which is token ${ending + 1} of ${ids.length}`;
  if (finishReason === 'stop' && ending < 0)
    return 'it stopped, and neither an end token nor a stop string is there';
  if (finishReason === 'length' && ids.length !== limit)
    return `it was cut at ${ids.length} tokens, and ${limit} were asked for`;
  if (finishReason !== 'stop' && finishReason !== 'length') return `it ended with "${finishReason}"`;
  if (ids.length === 0 || ids.length > limit) return `it has ${ids.length} tokens of ${limit}`;
  const drawn = Float32Array.from(logprobs as number[]);
  return {
    ids: [...ids],
    text: model.tokenizer.decodeCompletion(ids, { endIds: model.endIds }),
    // An end token at the limit ends it, as in this process.
    finishReason: ending >= 0 ? 'stop' : 'length',
    // Over the whole vocabulary a server does not tell them beside its truncated ones; without truncation both are the same.
    logprobs: kept ? new Float32Array(ids.length).fill(Number.NaN) : drawn,
    sampledLogprobs: options.temperature === 0 ? new Float32Array(ids.length) : drawn.slice(),
    ...(kept && { support: kept }),
    ...(weights !== undefined && { weights }),
  };
}

/** The ids that each token could have been drawn from; or what is wrong with them, in words. */
function keptSets(
  ids: readonly number[],
  support: RemoteCompletion['support'],
  vocabSize: number,
): TokenSets | string {
  if (!support) return 'it came without the ids that sampling kept';
  if (support.length !== ids.length)
    return `${ids.length} tokens came with ${support.length} sets of kept ids`;
  const sets = support.map((kept) => [...new Set(kept)].sort((a, b) => a - b));
  const wrong = sets.findIndex((kept, t) => !kept.includes(ids[t]!));
  if (wrong >= 0) return `token ${wrong + 1} is not among the ids that it was drawn from`;
  const foreign = sets.findIndex((kept) => kept[0]! < 0 || kept.at(-1)! >= vocabSize);
  if (foreign >= 0)
    return `the ids kept for token ${foreign + 1} are not all of the vocabulary of ${vocabSize}`;
  return TokenSets.of(sets);
}

/** The place of the token with which a completion would have ended here; −1 where it would not have. */
function firstEnding(ids: readonly number[], model: Model, options: SamplingOptions): number {
  if (options.stop.length === 0) return ids.findIndex((id) => model.endIds.has(id));
  const ends = endingOf(model, options);
  return ids.findIndex((_, t) => ends(ids.slice(0, t + 1)));
}

function isPrompt(read: RemoteCompletion['prompt'], prompt: readonly number[]): boolean {
  if (typeof read === 'number') return read === prompt.length;
  return read.length === prompt.length && read.every((id, t) => id === prompt[t]);
}
