import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { explanationOf } from '../measures/advantages.js';
import { fail, notApplicable, pass } from '../outcome.js';

export const b31: Fault = {
  code: 'B31',
  name: 'wrong groups',
  title: 'Completions are grouped wrongly',
  checks: [
    stepCheck({
      code: 'B31.grouping',
      title: 'A completion is compared with completions of its own prompt',
      stage: 'advantage',
      kind: 'identity',
      level: 5,
      rank: 1,
      threshold: 'reported when the advantages fit only groups of every n-th completion',
      sources: [
        'huggingface/trl#3181',
        'huggingface/trl#3098',
        'dllm-reasoning/d1#19',
        'PeterGriffinJin/Search-R1#88',
      ],
      remedy: 'Keep one order, [p1, p1, p2, p2], from sampling to the advantages.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33', 'B34', 'B32'],
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record) {
        if (groupsOf(given.promptOf).length < 2) return notApplicable('two prompts in a step');
        const explanation = explanationOf(record);
        const { kind } = explanation;
        if (kind === 'lacking') return notApplicable(explanation.what);
        return kind === 'other grouping' ? fail({ fits: kind }) : pass({ fits: kind });
      },
      says: () =>
        'The advantages fit groups of every n-th completion, not groups of one prompt: completions are compared with completions of other prompts.',
    }),
  ],
};
