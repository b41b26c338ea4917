import type { Measured } from '../../audit/context.js';
import { DeclaredOrder } from '../../audit/order/declared-order.js';
import { plainPrompt } from '../../audit/prompt.js';
import { textPair } from '../../audit/text-pair.js';
import { worstOf } from '../../audit/worst.js';
import type { Model } from '../../models/index.js';
import type { Problem } from '../../tasks/task.js';
import type { Example } from '../examples.js';

/**
 * Holds the examples of an SFT step to the rows that the order of the seed has at this step, and each to its row: the
 * prompt's ids, the demonstration's text, and one end token behind it.
 *
 * @param problems - the rows with a demonstration, in the order of the data
 * @param step - counted from 0
 */
export function compareExamples(
  { tokenizer, template, endIds }: Pick<Model, 'tokenizer' | 'template' | 'endIds'>,
  examples: readonly Example[],
  problems: readonly Problem[],
  { seed, step, batchSize }: { seed: number; step: number; batchSize: number },
): Measured {
  const order = new DeclaredOrder([...problems.keys()], seed);
  const rows = Array.from({ length: batchSize }, (_, i) => problems[order.at(step * batchSize + i)]!);
  const each = (pairOf: (example: Example, row: Problem) => { found: string; plain: string }) =>
    rows.map((row, prompt) => {
      const { found, plain } = pairOf(examples[prompt] ?? { prompt: [], completion: [] }, row);
      return { ...textPair(found, plain), prompt };
    });
  return {
    comparisons: [
      ...worstOf('run', 'number of examples', [{ found: examples.length, plain: batchSize, bound: 0 }]),
      ...worstOf(
        'prompt',
        'prompt of an example, as ids',
        each(({ prompt }, row) => ({
          found: prompt.join(' '),
          plain: plainPrompt({ tokenizer, template }, row).ids().join(' '),
        })),
      ),
      ...worstOf(
        'text',
        'text of a demonstration',
        each(({ completion }, { demonstration }) => {
          const ids = tokenizer.encode(demonstration!);
          // It may end with an end token of its own.
          const own = endIds.has(ids.at(-1)!) ? ids.slice(0, -1) : ids;
          return { found: tokenizer.decode(completion.slice(0, -1)), plain: tokenizer.decode(own) };
        }),
      ),
      ...worstOf(
        'text',
        'end of a demonstration',
        each(({ completion }) => ({
          found: endIds.has(completion.at(-1)!) ? 'an end token' : `the token ${completion.at(-1)}`,
          plain: 'an end token',
        })),
      ),
    ],
  };
}
