import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { differences } from '../measures/id-differences.js';
import { fail, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b02: Fault = {
  code: 'B02',
  name: 'rescored prompt',
  title: 'The loss and generation use different prompts',
  checks: [
    stepCheck({
      code: 'B02.prompt',
      title: 'Completions are scored after the prompt that they were sampled from',
      stage: 'tokens',
      level: 2,
      rank: 1,
      threshold: 'every id of every prompt equal; prompts without scored completions are left out',
      sources: ['arXiv:2402.03300', 'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'The importance ratio compares two probabilities of one completion after one prompt.',
      remedy: 'Score with the sampler’s prompt ids; do not render or encode the prompt again.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B35', 'B38', 'B39', 'B49', 'B51', 'B55'],
      proofs: ['native'],
      needs: ['promptIds', 'scoredPromptIds'],
      test({ promptIds, scoredPromptIds }, { scored, completions }) {
        const isScored = (prompt: number) =>
          completions?.prompt?.some((own, b) => own === prompt && scored?.lengths?.[b] !== 0) ?? true;
        const different = differences(promptIds, scoredPromptIds)
          .filter(({ row }) => isScored(row))
          .map(({ row, ...rest }) => ({ prompt: row, ...rest }));
        const measured = { prompts: promptIds.length, different: different.length };
        return different.length > 0 ? fail(measured, different) : pass(measured);
      },
      says: (m) =>
        say`${m.different} of ${m.prompts} prompts were scored with token ids that differ from those the sampler got.`,
    }),
  ],
};
