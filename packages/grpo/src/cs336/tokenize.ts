import { type Tensor, tensor } from '@grpo/torch';
import type { Tokenizer } from '../text/tokenizer.js';
import { demand } from './inputs.js';

export interface TokenizePromptAndOutputOptions {
  promptStrs: readonly string[];
  /** One output a prompt. */
  outputStrs: readonly string[];
  /** That of a model; its padding token, or without one its end token, pads. */
  tokenizer: Pick<Tokenizer, 'encode' | 'padId' | 'eosId'>;
}

export interface TokenizedPrompts {
  /** All ids but the last column: int64 `[B, S]`. */
  inputIds: Tensor;
  /** All ids but the first column, so that column j of it comes after column j of `inputIds`: int64 `[B, S]`. */
  labels: Tensor;
  /** True where the label is a token of the output: bool `[B, S]`. */
  responseMask: Tensor;
}

/**
 * Prompts and outputs as ids, each tokenized on its own, so that no token spans the two; no special tokens are added.
 * Rows are padded on the right to the longest; S is its length − 1. Only the longest row loses its own last token from
 * `inputIds`, the others lose padding.
 *
 * @throws TypeError naming a missing input, or when the tokenizer has nothing to pad with; RangeError when there are not as
 * many outputs as prompts, or no text at all
 *
 * @example
 * import { loadModel, writeTinyModel } from 'grpo';
 * import { tokenizePromptAndOutput } from 'grpo/cs336';
 *
 * const { tokenizer } = loadModel(await writeTinyModel('models/tiny'));
 * const { inputIds, responseMask } = tokenizePromptAndOutput({
 *   promptStrs: ['2 + 2 =', '10 + 10 ='],
 *   outputStrs: [' 4', ' 20'],
 *   tokenizer,
 * });
 * console.log(inputIds.shape, responseMask.toNumbers());
 */
export function tokenizePromptAndOutput(options: TokenizePromptAndOutputOptions): TokenizedPrompts {
  const where = 'tokenizePromptAndOutput';
  demand(where, options, 'promptStrs', 'outputStrs', 'tokenizer');
  const { promptStrs, outputStrs, tokenizer } = options;
  if (promptStrs.length !== outputStrs.length)
    throw new RangeError(`${where}: ${promptStrs.length} prompts, but ${outputStrs.length} outputs`);
  const pad = tokenizer.padId ?? tokenizer.eosId;
  if (pad === undefined)
    throw new TypeError(`${where}: the tokenizer names neither a pad_token nor an eos_token to pad with`);
  const rows = promptStrs.map((prompt, b) => {
    const ids = tokenizer.encode(prompt);
    return { outputStart: ids.length, ids: [...ids, ...tokenizer.encode(outputStrs[b]!)] };
  });
  const width = Math.max(0, ...rows.map(({ ids }) => ids.length));
  if (width === 0) throw new RangeError(`${where}: there is no text`);
  const grid = (cell: (row: (typeof rows)[number], column: number) => number, dtype: 'int64' | 'bool') =>
    tensor(
      rows.flatMap((row) => Array.from({ length: width - 1 }, (_, column) => cell(row, column))),
      [rows.length, width - 1],
      { dtype },
    );
  return {
    inputIds: grid(({ ids }, j) => ids[j] ?? pad, 'int64'),
    labels: grid(({ ids }, j) => ids[j + 1] ?? pad, 'int64'),
    responseMask: grid(
      ({ ids, outputStart }, j) => Number(j + 1 >= outputStart && j + 1 < ids.length),
      'bool',
    ),
  };
}
