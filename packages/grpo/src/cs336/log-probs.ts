import { type Tensor, tidy } from '@grpo/torch';
import { type Model, packSegments } from '../models/index.js';
import { demand, requireShape } from './inputs.js';

/**
 * Entropy of softmax(logits) over the last dimension, in nats: −Σ p log p. Logits of any size do not overflow.
 *
 * @param options.logits - `[…, V]`
 * @returns `[…]`
 * @throws TypeError naming a missing input
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { computeEntropy } from 'grpo/cs336';
 *
 * const logits = tensor([0, 0, 1000, 0], [2, 2]);
 * console.log(computeEntropy({ logits }).toNumbers()); // [0.693…, 0]
 */
export function computeEntropy(options: { logits: Tensor }): Tensor {
  demand('computeEntropy', options, 'logits');
  return tidy(() => entropy(options.logits.logSoftmax(-1)));
}

const entropy = (logProbs: Tensor): Tensor => logProbs.exp().mul(logProbs.neg()).sumDim([-1]);

export interface ResponseLogProbsOptions {
  /** What `loadModel` returns. */
  model: Pick<Model, 'decoder'>;
  /** Ids, padded on the right: int64 `[B, S]`. */
  inputIds: Tensor;
  /** The ids that are scored, the one in column j under what the model says after column j: int64 `[B, S]`. */
  labels: Tensor;
  returnTokenEntropy?: boolean | undefined;
}

export interface ResponseLogProbs {
  /** log π of each label, with gradient where the model's weights have one: float32 `[B, S]`. */
  logProbs: Tensor;
  /** Of the distribution that each label is drawn from, in nats, with gradient likewise: float32 `[B, S]`. */
  tokenEntropy?: Tensor;
}

/**
 * Log-probs of the labels at temperature 1, and on request entropies. Nothing is masked: what stands in the columns of
 * prompt and padding is for the response mask to leave out.
 *
 * @throws TypeError naming a missing input; RangeError for another shape
 *
 * @example
 * import { loadModel, writeTinyModel } from 'grpo';
 * import { getResponseLogProbs, tokenizePromptAndOutput } from 'grpo/cs336';
 *
 * const model = loadModel(await writeTinyModel('models/tiny'));
 * const { inputIds, labels } = tokenizePromptAndOutput({
 *   promptStrs: ['1 + 2 ='],
 *   outputStrs: [' 3'],
 *   tokenizer: model.tokenizer,
 * });
 * const scores = getResponseLogProbs({ model, inputIds, labels, returnTokenEntropy: true });
 * console.log(scores.logProbs.shape, scores.tokenEntropy?.shape);
 */
export function getResponseLogProbs(options: ResponseLogProbsOptions): ResponseLogProbs {
  const where = 'getResponseLogProbs';
  demand(where, options, 'model', 'inputIds', 'labels');
  const { model, inputIds, labels, returnTokenEntropy = false } = options;
  requireShape(where, inputIds.shape, { inputIds, labels });
  const { decoder } = model;
  return tidy(() => {
    const packed = packSegments(rowsOf(where, inputIds), decoder.config, decoder.device);
    const all_NV = decoder.logits(decoder.hidden(packed, packed.attend)).logSoftmax(-1);
    const labels_N1 = labels.toDevice(decoder.device).reshape([-1, 1]);
    return {
      logProbs: all_NV.gather(1, labels_N1).reshape(labels.shape),
      ...(returnTokenEntropy && { tokenEntropy: entropy(all_NV).reshape(labels.shape) }),
    };
  });
}

/** Padding stands on the right, where a causal model's earlier tokens do not see it: each row is one segment. */
function rowsOf(where: string, inputIds: Tensor): { ids: number[] }[] {
  const [batch, length, ...more] = inputIds.shape;
  if (batch === undefined || length === undefined || more.length > 0)
    throw new RangeError(`${where}: inputIds must be [B, S], it has the shape [${inputIds.shape}]`);
  const ids = inputIds.toNumbers();
  return Array.from({ length: batch }, (_, b) => ({ ids: ids.slice(b * length, (b + 1) * length) }));
}
