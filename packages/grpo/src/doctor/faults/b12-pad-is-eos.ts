import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { endsTrained } from '../measures/end-token.js';
import { notApplicable } from '../outcome.js';
import { say } from '../sentence.js';

export const b12: Fault = {
  code: 'B12',
  name: 'pad is EOS',
  title: 'The padding token is the end token, and the mask drops it',
  checks: [
    stepCheck({
      code: 'B12.padding',
      title: 'When the padding token is the end token, the mask keeps the end token',
      stage: 'masks',
      level: 2,
      rank: 2,
      threshold: 'the end token of every completion that is trained on has mask 1',
      sources: [
        'huggingface/trl#3091',
        'mlabonne/llm-course#33',
        'huggingface/blog#1302',
        'parity/trl_faults.py',
      ],
      why: 'A mask built as ids ≠ pad drops the end token when pad = EOS.',
      remedy: 'Build masks from lengths, never by comparing ids with the padding token.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16'],
      proofs: ['native', 'TRL run'],
      needs: ['ids', 'endIds', 'padId', 'scoredIds', 'masks'],
      test(given, record) {
        const { endIds, padId } = given;
        if (!endIds.includes(padId)) return notApplicable('a padding token that is an end token');
        return endsTrained(given, record, (id) => id === padId, 'a completion ended by the padding token', {
          pad: padId,
        });
      },
      says: (m) =>
        say`The padding token is the end token (${m.pad}), and the mask of ${m.left} of the ${m.ended} completions that ended leaves it out: the model forgets how to stop.`,
    }),
  ],
};
