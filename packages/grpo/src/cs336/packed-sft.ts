import { stack, type Tensor, tensor, tidy } from '@grpo/torch';
import { FormatError } from '../errors/format-error.js';
import { readRows } from '../formats/read-rows.js';
import { permutation } from '../maths/random.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { demand } from './inputs.js';
import { instructionIds } from './instruction-text.js';

export interface PackedSftDatasetOptions {
  tokenizer: Pick<Tokenizer, 'encode' | 'eosId'>;
  /** A JSON Lines file; each row has the texts `prompt` and `response`. */
  datasetPath: string;
  /** S, tokens of an example. */
  seqLength: number;
  /** Whether the rows are packed in another order than the file's; the order follows from `seed`. */
  shuffle: boolean;
  /** A text with `{instruction}` and `{response}`: that of the assignment's `alpaca_sft.prompt`, or your own. */
  template: string;
  /** 0 when left out. */
  seed?: number | undefined;
}

/** Ids and what follows each: int64, `[S]` in an example and `[B, S]` in a batch. */
export interface SftExample {
  inputIds: Tensor;
  labels: Tensor;
}

export interface PackedSftDataset {
  /** Number of examples. */
  readonly length: number;
  /** @throws RangeError outside of 0 … length − 1 */
  get(index: number): SftExample;
}

/**
 * Rows as one long run of ids, cut into examples of `seqLength`. Each row is the filled template, with a BOS where the
 * tokenizer adds one, and the end token behind it. A label is the id that follows, also at an example's end; what does
 * not fill an example at the end of the run is left out.
 *
 * @throws TypeError naming a missing input; FormatError for a row without its texts; RangeError when no example is filled
 *
 * @example
 * import { writeFileSync } from 'node:fs';
 * import { loadModel, writeTinyModel } from 'grpo';
 * import { getPackedSftDataset } from 'grpo/cs336';
 *
 * writeFileSync('sft.jsonl', '{"prompt": "Count to three.", "response": "1, 2, 3"}\n');
 * const dataset = await getPackedSftDataset({
 *   tokenizer: loadModel(await writeTinyModel('models/tiny')).tokenizer,
 *   datasetPath: 'sft.jsonl',
 *   seqLength: 8,
 *   shuffle: false,
 *   template: 'Q: {instruction}\nA: {response}',
 * });
 * console.log(dataset.length, dataset.get(0).labels.toNumbers());
 */
export async function getPackedSftDataset(options: PackedSftDatasetOptions): Promise<PackedSftDataset> {
  const where = 'getPackedSftDataset';
  demand(where, options, 'tokenizer', 'datasetPath', 'seqLength', 'shuffle', 'template');
  const { datasetPath, seqLength, shuffle, seed = 0 } = options;
  requireCount(where, 'seqLength', seqLength);
  const texts = (await readRows(datasetPath)).map(({ line, value: { prompt, response } }) => {
    if (typeof prompt === 'string' && typeof response === 'string') return { prompt, response };
    throw new FormatError(datasetPath, 'the row needs the texts "prompt" and "response"', { line });
  });
  const ids = orderOf(texts.length, shuffle, seed).flatMap((i) =>
    instructionIds(where, options, texts[i]!.prompt, texts[i]!.response),
  );
  const length = Math.floor((ids.length - 1) / seqLength);
  if (length === 0)
    throw new RangeError(
      `${where}: ${datasetPath} has ${ids.length} tokens, too few for one example of ${seqLength} and its last label`,
    );
  const part = (from: number) => tensor(ids.slice(from, from + seqLength), undefined, { dtype: 'int64' });
  return {
    length,
    get(index) {
      if (!(Number.isInteger(index) && index >= 0 && index < length))
        throw new RangeError(`example ${index} of a dataset of ${length}`);
      return { inputIds: part(index * seqLength), labels: part(index * seqLength + 1) };
    },
  };
}

export interface IterateBatchesOptions {
  dataset: PackedSftDataset;
  /** B; the last batch may have fewer examples. */
  batchSize: number;
  /** Whether examples come in another order; it follows from `seed`: give each epoch its own. */
  shuffle: boolean;
  /** 0 when left out. */
  seed?: number | undefined;
}

/**
 * All examples once, in ceil(length / batchSize) batches.
 *
 * @returns batches of `[B, S]`; each belongs to the `tidy` scope that runs when it is taken
 * @throws TypeError naming a missing input
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { iterateBatches } from 'grpo/cs336';
 *
 * const ids = (...values: number[]) => tensor(values, undefined, { dtype: 'int64' });
 * const dataset = { length: 3, get: (i: number) => ({ inputIds: ids(i, i), labels: ids(i, i) }) };
 * for (const { inputIds } of iterateBatches({ dataset, batchSize: 2, shuffle: false }))
 *   console.log(inputIds.shape); // [2, 2], then [1, 2]
 */
export function iterateBatches(options: IterateBatchesOptions): Generator<SftExample, void, undefined> {
  const where = 'iterateBatches';
  demand(where, options, 'dataset', 'batchSize', 'shuffle');
  requireCount(where, 'batchSize', options.batchSize);
  return batches(options);
}

function* batches({ dataset, batchSize, shuffle, seed = 0 }: IterateBatchesOptions) {
  const order = orderOf(dataset.length, shuffle, seed);
  for (let start = 0; start < order.length; start += batchSize) {
    yield tidy(() => {
      const examples = order.slice(start, start + batchSize).map((i) => dataset.get(i));
      return {
        inputIds: stack(examples.map(({ inputIds }) => inputIds)),
        labels: stack(examples.map(({ labels }) => labels)),
      };
    });
  }
}

const orderOf = (length: number, shuffle: boolean, seed: number): number[] =>
  shuffle ? permutation(length, seed) : Array.from({ length }, (_, i) => i);

function requireCount(where: string, name: string, value: number): void {
  if (!(Number.isInteger(value) && value > 0))
    throw new RangeError(`${where}: ${name} must be a whole number >= 1, found ${value}`);
}
