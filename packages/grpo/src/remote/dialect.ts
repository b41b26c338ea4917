import type { SamplingOptions } from '../rollout/index.js';
import type { JsonServer } from './json-server.js';

/** What a server says of itself; undefined where it does not tell. */
export interface ServerFacts {
  /** Name of its base model, which requests without an adapter ask for. */
  model: string;
  /** What answers, such as `vllm 0.33.0`. */
  software: string;
  /** Whether it is `grpo serve`, which draws as this process does. */
  isGrpo: boolean;
  /** Longest prompt and completion together, in tokens. */
  maxModelLen?: number | undefined;
  vocabSize?: number | undefined;
  dtype?: string | undefined;
  /** Loaded adapters, by name. */
  adapters: readonly string[];
  /** Version of the base weights. */
  weightVersion?: string | undefined;
}

/** A request for completions of one prompt. */
export interface RemoteRequest {
  prompt: readonly number[];
  /** Completions, with places 0 … count − 1 in their random streams. */
  count: number;
  /** Longest completion, in tokens. */
  limit: number;
  options: SamplingOptions;
  endIds: ReadonlySet<number>;
  seed: number;
  /** Names the prompt's random streams. */
  keys: readonly number[];
  /** Name of a loaded adapter; none for the base model. */
  adapter?: string | undefined;
  /** Takes the request back. */
  signal?: AbortSignal | undefined;
}

/** Whether the ids that sampling kept are to come with each token: where there is a choice, and they are not all. */
export const asksSupport = ({ keepSupport, temperature }: SamplingOptions): boolean =>
  keepSupport && temperature > 0;

/** A completion as a server gave it: nothing of it is checked. */
export interface RemoteCompletion {
  /** Its place among those of the prompt. */
  index: number;
  ids: readonly number[];
  logprobs: readonly (number | null)[];
  /** For each token the ids that it could have been drawn from, where the server tells them; log-probs are over these. */
  support?: readonly (readonly number[])[] | undefined;
  /** `stop`, `length`, or a word for an end that it should not have had. */
  finishReason: string;
  /** The prompt as the server read it: its ids, or where it does not tell them how many they were. */
  prompt: readonly number[] | number;
  /** Name of the model that sampled it: the adapter's, where one was asked for. */
  model?: string | undefined;
  /** Version of the base weights that sampled it. */
  weightVersion?: string | undefined;
  /** Checksum of the weights that sampled it: of `grpo serve` only. */
  weights?: number | undefined;
}

/** Weights in a folder that the servers can read. */
export interface PushedWeights {
  /** LoRA adapters as PEFT writes them, or a whole model. */
  kind: 'adapter' | 'model';
  folder: string;
  /** A name that no other weights had, on any server. */
  name: string;
  /** Begins the names of all that this run has pushed. */
  prefix: string;
}

/** A server, as it is asked once it has the weights of a run. */
export interface ServerAccess {
  server: JsonServer;
  dialect: Dialect;
  facts: ServerFacts;
  weights: Pick<PushedWeights, 'kind' | 'name'> & {
    /** Their version within the run, such as `step-17`. */
    version: string;
  };
  signal?: AbortSignal | undefined;
}

/** What one kind of server is asked, and how it answers. */
export interface Dialect {
  /** How to start a server that tells the ids that sampling kept. */
  readonly supportHint: string;
  facts(server: JsonServer, signal?: AbortSignal): Promise<ServerFacts>;
  /** Completions of one prompt, as many as the server gave. */
  generate(server: JsonServer, facts: ServerFacts, request: RemoteRequest): Promise<RemoteCompletion[]>;
  /**
   * Log-prob of each token given those before it, by the plain distribution of the model at temperature 1; null of the
   * first.
   */
  score(
    server: JsonServer,
    facts: ServerFacts,
    request: { ids: readonly number[]; adapter?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<(number | null)[]>;
  /** Loads the weights. Adapters that this run pushed before are unloaded first. */
  push(server: JsonServer, facts: ServerFacts, weights: PushedWeights, signal?: AbortSignal): Promise<void>;
  /** Unloads the adapters that this run has pushed. */
  withdraw(server: JsonServer, facts: ServerFacts, prefix: string, signal?: AbortSignal): Promise<void>;
  /** Forgets what is cached of prompts. */
  flush(server: JsonServer, signal?: AbortSignal): Promise<void>;
}
