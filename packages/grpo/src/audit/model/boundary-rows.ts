import { noGrad, tidy } from '@grpo/torch';
import type { Config } from '../../config/schema.js';
import type { Model } from '../../models/index.js';
import { finalNorm, headOf, lastStates } from '../plain/plain-decoder.js';
import { eachLogits } from '../plain/plain-head.js';
import { column } from '../plain/plain-logprobs.js';
import { type PlainSequence, passesOf } from '../plain/plain-pass.js';
import { rawModel } from './raw-model.js';

/** One row of the logits of a prompt with its completion, and the token that it predicts: the one after it. */
export interface LogitsRow {
  row: number;
  /** The token at the place of the row, and the one that the row predicts. */
  input: number;
  predicts: number;
  /** Log-prob of that token in this row; in the row before it and in the one after, as a shift by one would have it. */
  logprob: number;
  before?: number;
  after?: number;
}

/**
 * The rows about the boundary of prompt and completion, by the plain path: the last one that predicts a token of the prompt,
 * the first two that predict tokens of the completion, and the last one.
 */
export function boundaryRows(model: Model, config: Config, sequence: PlainSequence): LogitsRow[] {
  const { prompt, completion } = sequence;
  const ids = [...prompt, ...completion];
  const first = prompt.length - 1;
  const shown = [first - 1, first, first + 1, ids.length - 2];
  const isRow = (row: number) => row >= 0 && row <= ids.length - 2;
  const rows = [...new Set(shown)].filter(isRow);
  const raw = rawModel(model, model.decoder, config);
  const { temperature } = config.rollout;
  const near = [...new Set(rows.flatMap((row) => [row - 1, row, row + 1]))].filter(isRow);
  // The log-probs that a row gives to the token at its own place and to the two tokens after it.
  const table = new Map<number, number[]>();
  noGrad(() =>
    tidy(() => {
      const inputs = passesOf(raw, sequence).map(({ input }) => input);
      const [last] = lastStates(raw, inputs);
      const states = last!.indexSelect(0, column(near, last!.device).flatten());
      eachLogits(finalNorm(raw).of(states), headOf(raw), (logits, start) => {
        const own = near.slice(start, start + logits.size(0));
        const scaled = logits.div(temperature === 0 ? 1 : temperature);
        const logprobs = scaled.sub(scaled.logsumexp([-1], true));
        const given = [0, 1, 2].map((ahead) => {
          const targets = own.map((row) => ids[Math.min(row + ahead, ids.length - 1)]!);
          return logprobs.gather(1, column(targets, logits.device)).flatten().toNumbers();
        });
        for (const [i, row] of own.entries())
          table.set(
            row,
            given.map((values) => values[i]!),
          );
      });
    }),
  );
  return rows.map((row): LogitsRow => {
    const [before, after] = [table.get(row - 1)?.[2], table.get(row + 1)?.[0]];
    return {
      row,
      input: ids[row]!,
      predicts: ids[row + 1]!,
      logprob: table.get(row)![1]!,
      ...(before !== undefined && { before }),
      ...(after !== undefined && { after }),
    };
  });
}
