import { type Tensor, tensor, tokenScores } from '@grpo/torch';
import type { TokenSets } from '../formats/token-sets.js';
import { chunkRows } from '../memory/pass-bytes.js';
import { type Decoder, evenRows } from '../models/index.js';

/** log π and entropy of every completion token, completion after completion: `[T]` each, float32. */
export interface TokenScores {
  logprobs_T: Tensor;
  /** In nats; without a gradient, unless it was asked for. */
  entropies_T: Tensor;
  /** KL(policy ‖ reference) over the whole vocabulary, or over the tokens' support, with gradient; where it was asked for. */
  fullKl_T?: Tensor;
}

/** Tokens to score, with the hidden states that predict them. */
export interface HiddenTokens {
  decoder: Decoder;
  /** Hidden states `[N, hiddenSize]`, and the row of those that predict each of the T tokens. */
  hidden_ND: Tensor;
  rows: readonly number[];
  /** Ids of the tokens. */
  targets: readonly number[];
  /** Divides the logits. */
  temperature: number;
  /** The entropies have a gradient as well. */
  entropyGradient: boolean;
  /** The full KL to this decoder is wanted. */
  reference: { decoder: Decoder; hidden_ND: Tensor } | undefined;
  /** What softmax is over, run after run of tokens. */
  support?: readonly TokenRun[];
}

/** Tokens side by side, all of which are scored over sets of ids, or all over the vocabulary. */
export interface TokenRun {
  tokens: number;
  /** The set of each token; the vocabulary where there are none. */
  sets: TokenSets | undefined;
}

/**
 * Scores of tokens by the hidden states before them. The engine computes the logits `[T, V]` a chunk of rows at a time,
 * and again for the backward pass, for which it keeps those of the last chunk.
 */
export function scoreHidden({ decoder, hidden_ND, rows, targets, ...options }: HiddenTokens): TokenScores {
  const { reference, temperature, entropyGradient, support = [] } = options;
  const { vocabSize, logitDivisor, logitSoftcap = 0 } = decoder.config;
  const { device } = decoder;
  // Padding, whose scores are dropped.
  const rest = Array<number>(evenRows(targets.length, decoder) - targets.length).fill(0);
  const [rows_T, targets_T] = [rows, targets].map((values) =>
    tensor([...values, ...rest], undefined, { dtype: 'int64', device }),
  ) as [Tensor, Tensor];
  const predicting = (hidden: Tensor) => hidden.indexSelect(0, rows_T);
  const [logprobs_T, entropies_T, kl_T] = tokenScores(
    predicting(hidden_ND),
    decoder.head,
    targets_T,
    reference && rescaled(predicting(reference.hidden_ND), reference.decoder, logitDivisor),
    reference && headOf(reference.decoder, vocabSize),
    {
      // c tanh(z / (d c)) / t, of which the engine knows no d.
      temperature: temperature * logitDivisor,
      softcap: logitSoftcap * logitDivisor,
      chunk: chunkRows(vocabSize),
      entropy_gradient: entropyGradient,
      ...(support.some(({ sets }) => sets) &&
        engineSets([...support, { tokens: rest.length, sets: undefined }])),
    },
  );
  const asked = (values_T: Tensor) => values_T.narrow(0, 0, targets.length);
  return {
    logprobs_T: asked(logprobs_T),
    entropies_T: asked(entropies_T),
    ...(reference && { fullKl_T: asked(kl_T) }),
  };
}

/** Hidden states whose logits are divided as ours are. */
const rescaled = (hidden_TD: Tensor, { config }: Decoder, divisor: number) =>
  config.logitDivisor === divisor ? hidden_TD : hidden_TD.mul(divisor / config.logitDivisor);

/** The vocabulary projection without rows that only this decoder has: tokens have none of them. */
const headOf = ({ head, config }: Decoder, rows: number): Tensor =>
  config.vocabSize > rows ? head.narrow(0, 0, rows) : head;

/** The sets as the engine takes them: their bytes, and where each begins; the whole vocabulary takes none. */
function engineSets(runs: readonly TokenRun[]): { support: Tensor; support_offsets: Tensor } {
  const lengths = runs.flatMap(({ tokens, sets }) =>
    sets ? [...sets.lengths] : Array<number>(tokens).fill(0),
  );
  let end = 0;
  const ends = lengths.map((length) => {
    end += length;
    return end;
  });
  const bytes = Buffer.concat(runs.flatMap(({ sets }) => (sets ? [sets.data] : [])));
  return {
    support: tensor(bytes, undefined, { dtype: 'uint8' }),
    support_offsets: tensor([0, ...ends], undefined, { dtype: 'int64' }),
  };
}
