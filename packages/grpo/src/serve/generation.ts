import type { Completion, SamplingOptions } from '../rollout/index.js';

/** A drawn token, as it is told while its completion grows. */
export interface GeneratedToken {
  id: number;
  /** Under softmax(logits / temperature). */
  logprob: number;
  /** Under the distribution that it was drawn from. */
  sampledLogprob: number;
}

/** Completions of one prompt that a client asks for. */
export interface GenerateRequest {
  /** Token ids. */
  prompt: readonly number[];
  /** Completions, with places 0 … count − 1 in their random streams. */
  count: number;
  /** `maxNewTokens` 0 draws nothing. `lotBytes` is not read: the engine has its own memory. */
  options: SamplingOptions;
  /** With `keys` and the place of a completion it fixes every draw. */
  seed: number;
  keys: readonly number[];
  /** Name of a loaded adapter; the model itself when left out. */
  adapter?: string | undefined;
  /** Log-probs of the prompt's own tokens are asked for. */
  scorePrompt?: boolean | undefined;
  /** The client has gone: the request leaves the batch at the next token, and is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Called with each token, in the order of each completion; it must return soon. */
  onToken?: ((index: number, token: GeneratedToken) => void) | undefined;
}

/** The answer to a request. */
export interface Generated {
  /** By place; none where nothing was to be drawn. */
  completions: Completion[];
  /** Under softmax(logits), whatever the temperature, as vLLM has them; null for the first token, which nothing predicts. */
  promptLogprobs?: (number | null)[];
  /** Version of the weights that computed all of it. */
  weightVersion: string;
}
