import { nonzero } from '../../maths/moments.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { type Evidence, fail, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b11: Fault = {
  code: 'B11',
  name: 'completion mask',
  title: 'The completion mask covers wrong positions',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B11.mask',
      title: 'The loss mask covers every token of the model and no other',
      stage: 'masks',
      kind: 'identity',
      level: 2,
      rank: 1,
      threshold:
        'mask 1 at tokens of the model, 0 at tokens of tools and template; wholly masked completions are left out',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Build the mask from lengths and sources, where the tokens are put together.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B12', 'B37', 'B39', 'B45', 'B49'],
      proofs: ['native'],
      needs: ['ids', 'scoredIds', 'masks'],
      test({ ids, scoredIds, masks }, record) {
        const sources = inputs.sources.from(record);
        const wrong = masks.flatMap((mask, completion): Evidence[] => {
          if (nonzero(mask) === 0) return [];
          // The last token may be the end token, which has checks of its own.
          const inner = Math.min(mask.length, ids[completion]!.length - 1);
          const source = sources?.[completion];
          for (let token = 0; token < inner; token++) {
            if (mask[token] !== (source?.[token] ? 0 : 1))
              return [
                { completion, token, values: { mask: mask[token]!, id: scoredIds[completion]![token]! } },
              ];
          }
          return [];
        });
        const measured = { completions: masks.length, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`The loss mask of ${m.wrong} of ${m.completions} completions is wrong: it leaves out tokens of the model, or covers other tokens.`,
    }),
  ],
};
