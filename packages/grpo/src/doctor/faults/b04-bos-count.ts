import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, fail, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b04: Fault = {
  code: 'B04',
  name: 'BOS count',
  title: 'The count of BOS tokens is wrong',
  checks: [
    stepCheck({
      code: 'B04.bos',
      title: 'A prompt begins with as many BOS tokens as the model expects',
      stage: 'template',
      level: 1,
      rank: 1,
      threshold: 'leading BOS tokens = tokenizer.expectedBos (0 or 1)',
      sources: ['huggingface/open-r1#462', 'vllm-project/vllm#27515', 'huggingface/trl#3520'],
      why: 'The first two issues report two BOS tokens, the third reports none.',
      remedy: 'Let exactly one of the template and the tokenizer add the BOS token.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['bosId', 'expectedBos', 'promptIds'],
      test({ bosId, expectedBos, promptIds }) {
        const wrong = promptIds.flatMap((ids, prompt): Evidence[] => {
          const found = leading(ids, bosId);
          return found === expectedBos ? [] : [{ prompt, values: { found } }];
        });
        const measured = { expected: expectedBos, prompts: promptIds.length, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`${m.wrong} of ${m.prompts} prompts begin with the wrong number of BOS tokens: the model expects ${m.expected}.`,
    }),
  ],
};

/** How many times a list begins with an id. */
function leading(ids: ArrayLike<number>, id: number): number {
  let count = 0;
  while (ids[count] === id) count++;
  return count;
}
