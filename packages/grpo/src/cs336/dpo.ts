import { noGrad, stack, type Tensor, tidy, zerosLike } from '@grpo/torch';
import type { Model } from '../models/index.js';
import { scoreTokens } from '../objective/index.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { demand } from './inputs.js';
import { instructionIds } from './instruction-text.js';

export interface DpoLossOptions {
  /** The policy: what `loadModel` returns. */
  lm: Pick<Model, 'decoder'>;
  /** The frozen reference; no gradient goes there. */
  lmRef: Pick<Model, 'decoder'>;
  /** That of both. */
  tokenizer: Pick<Tokenizer, 'encode' | 'eosId'>;
  beta: number;
  prompt: string;
  responseChosen: string;
  responseRejected: string;
  /** A text with `{instruction}` and `{response}`: that of the assignment's `alpaca_sft.prompt`, or your own. */
  template: string;
}

/**
 * Direct preference optimization (Rafailov et al., 2023, eq. 7) of one pair: −log σ(β (chosen − rejected)), each the
 * log-ratio of policy to reference, summed over the tokens of the filled template and the end token. Those of the prompt
 * cancel.
 *
 * @returns a scalar, with gradient where the weights of `lm` have one
 * @throws TypeError naming a missing input, a template without its places, or a tokenizer without an end token
 *
 * @example
 * import { loadModel, writeTinyModel } from 'grpo';
 * import { computePerInstanceDpoLoss } from 'grpo/cs336';
 *
 * const lm = loadModel(await writeTinyModel('models/tiny'));
 * const loss = computePerInstanceDpoLoss({
 *   lm,
 *   lmRef: lm,
 *   tokenizer: lm.tokenizer,
 *   beta: 0.5,
 *   prompt: 'Say hello.',
 *   responseChosen: 'Hello!',
 *   responseRejected: 'No.',
 *   template: 'Q: {instruction}\nA: {response}',
 * });
 * console.log(loss.item()); // log 2, as policy and reference are one
 */
export function computePerInstanceDpoLoss(options: DpoLossOptions): Tensor {
  const where = 'computePerInstanceDpoLoss';
  demand(
    where,
    options,
    'lm',
    'lmRef',
    'tokenizer',
    'beta',
    'prompt',
    'responseChosen',
    'responseRejected',
    'template',
  );
  const { lm, lmRef, beta, prompt } = options;
  const chosen = instructionIds(where, options, prompt, options.responseChosen);
  const rejected = instructionIds(where, options, prompt, options.responseRejected);
  const preference = (model: Pick<Model, 'decoder'>) => logProb(model, chosen).sub(logProb(model, rejected));
  return tidy(() => {
    const margin = preference(lm)
      .sub(noGrad(() => preference(lmRef)))
      .mul(beta);
    // log σ(x) is the log-softmax of x beside 0, which does not overflow.
    return stack([margin, zerosLike(margin)])
      .logSoftmax(0)
      .select(0, 0)
      .neg();
  });
}

/** Of all tokens but the first, which nothing predicts: a scalar. */
const logProb = ({ decoder }: Pick<Model, 'decoder'>, [first, ...rest]: number[]): Tensor =>
  scoreTokens(decoder, [{ prompt: [first!], completions: [rest] }], 1).logprobs_T.sum();
