/**
 * A sequence-classification model with one label: a decoder, and a head that makes one number of a sequence's last
 * token. What reward models are.
 */
import { type DType, keep, linear, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { UserError } from '../errors/user-error.js';
import { openCheckpoint } from '../formats/safetensors.js';
import { modelFolder } from '../hub/model-folder.js';
import type { Watch } from '../progress/watch.js';
import type { ChatTemplate } from '../text/chat-template.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { type Decoder, OwningDecoder } from './decoder.js';
import { readModelFolder, requireFolder } from './folder/folder.js';
import { loadParameters } from './folder/load-parameters.js';
import { isAdapter } from './lora/adapter-folder.js';
import { packSegments } from './pack-segments.js';
import { parameterSpecs } from './parameters.js';

/** A model that scores a whole text, as loaded from its folder. It is never trained. */
export interface SequenceClassifier extends Disposable {
  decoder: Decoder;
  tokenizer: Tokenizer;
  /** Absent where texts are scored as they are. */
  template: ChatTemplate | undefined;
  /**
   * The score of each sequence of ids, all in one pass. It is read at the last token that is no padding token, as
   * transformers does also where a text ends in one of its own.
   */
  scores(sequences: readonly (readonly number[])[]): number[];
}

const HEAD = 'score.weight';

/**
 * Loads a `…ForSequenceClassification` folder of GPT-2, Llama, Qwen 2 or Qwen 3, or `ORG/NAME` from the local Hugging
 * Face cache.
 *
 * @param options.dtype - dtype of the weights; the head computes in float32, so that close scores differ
 * @throws the errors of loadModel; UserError for a model without such a head, or with more labels than one
 */
export function loadSequenceClassifier(
  model: string,
  { dtype = 'float32', device = 'cpu', watch }: { dtype?: DType; device?: string; watch?: Watch } = {},
): SequenceClassifier {
  const dir = modelFolder(model);
  requireFolder(dir);
  if (isAdapter(dir)) {
    throw new UserError(`${model} is an adapter; a reward model must be a full model`, {
      hint: 'Merge it into its base first.',
    });
  }
  const { config: described, tokenizer, template } = readModelFolder(dir);
  requireOneLabel(model, dir);
  // There is no projection to the vocabulary; a tied one needs no tensor.
  const config = { ...described, tied: true };
  const specs = parameterSpecs(config);
  specs.set(HEAD, { shape: [1, config.hiddenSize], transposed: false, role: 'projection' });
  const parameters = loadParameters(dir, specs, { dtype, device, watch });
  const stored = parameters.get(HEAD)!;
  parameters.delete(HEAD);
  const head_1D = tidy(() => keep(stored.to('float32')));
  if (head_1D !== stored) stored.dispose();
  const decoder = new OwningDecoder(config, parameters);
  const padId = tokenizer.padId ?? tokenizer.eosId;
  return {
    decoder,
    tokenizer,
    template,
    scores: (sequences) => scoresOf(decoder, head_1D, sequences, padId),
    [Symbol.dispose]() {
      decoder.dispose();
      head_1D.dispose();
    },
  };
}

/** The weights tell: `num_labels` is not written where it is transformers' default, and may be overridden at loading. */
function requireOneLabel(model: string, dir: string): void {
  using checkpoint = openCheckpoint(dir);
  if (![...checkpoint.names()].includes(HEAD)) {
    throw new UserError(`${model} has no ${HEAD}: it is not a sequence-classification model`, {
      hint: 'A reward model is a …ForSequenceClassification folder with one label. A language model can judge over HTTP instead.',
    });
  }
  const [labels] = checkpoint.info(HEAD).shape;
  if (labels === 1) return;
  throw new UserError(`${model} has ${labels} labels; a reward model has one, its score`, {
    hint: 'A classifier of several labels needs a reward module of your own that says what each is worth.',
  });
}

function scoresOf(
  decoder: Decoder,
  head_1D: Tensor,
  sequences: readonly (readonly number[])[],
  padId: number | undefined,
): number[] {
  return noGrad(() =>
    tidy(() => {
      const segments = sequences.map((ids) => ({ ids: withoutPadding(ids, padId) }));
      const { config, device, dtype } = decoder;
      const packed = packSegments(segments, config, device, dtype, 'forward');
      const last = segments.map(({ ids }, i) => packed.starts[i]! + ids.length - 1);
      const last_B = tensor(last, undefined, { dtype: 'int64', device });
      const hidden_BD = decoder.hidden(packed, packed.attend).indexSelect(0, last_B);
      return linear(hidden_BD.to('float32'), head_1D).flatten().toNumbers();
    }),
  );
}

/** Tokens after the last one that is no padding change nothing before it. A sequence of padding alone is its first. */
function withoutPadding(ids: readonly number[], padId: number | undefined): readonly number[] {
  let end = ids.length;
  while (end > 1 && ids[end - 1] === padId) end--;
  return ids.slice(0, end);
}
