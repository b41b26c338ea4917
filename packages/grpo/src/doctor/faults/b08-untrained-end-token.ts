import { withoutNaN } from '../../maths/moments.js';
import { ends, mannKendall } from '../../maths/trend.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { endsTrained } from '../measures/end-token.js';
import { notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

export const b08: Fault = {
  code: 'B08',
  name: 'untrained end token',
  title: 'The end token is not trained on',
  checks: [
    stepCheck({
      code: 'B08.end',
      title: 'The end token of a completion is trained on',
      stage: 'masks',
      kind: 'identity',
      level: 2,
      rank: 2,
      threshold: 'the end token of every completion that is trained on is scored and has mask 1',
      sources: ['unslothai/unsloth-zoo#832', 'rasbt/reasoning-from-scratch#185', 'pytorch/torchtune#949'],
      remedy:
        'Build the mask from lengths that count the end token; keep the end token when decoding to ids.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B16'],
      proofs: ['native'],
      needs: ['ids', 'endIds', 'scoredIds', 'masks'],
      test(given, record) {
        const padId = record.tokenizer?.padId;
        // A lost end token that is the padding token was probably lost by comparing ids: B12.
        return endsTrained(
          given,
          record,
          (id) => id !== padId,
          'a completion ended by an end token other than padding',
          {},
        );
      },
      says: (m) =>
        say`${m.left} of the ${m.ended} completions that ended are trained without their end token: the model forgets how to stop.`,
    }),
    logCheck({
      code: 'B08.log',
      title: 'Truncated completions do not become more frequent',
      stage: 'generation',
      kind: 'heuristic',
      level: 8,
      rank: 6,
      threshold:
        'over 20 entries or more, the share of truncated completions does not rise by more than 0.2 (Mann–Kendall z > 3)',
      sources: ['unslothai/unsloth-zoo#832', 'rasbt/reasoning-from-scratch#185'],
      remedy:
        'Check that the loss mask covers the end token. Then check whether the reward favours long completions.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles:
        'The mask at the end token in a step’s record, and the probability of the end token where completions ended.',
      proofs: [],
      needs: ['completions/clipped_ratio'],
      test(log) {
        const cut = withoutNaN(log.column('completions/clipped_ratio'));
        if (cut.length < 20) return notApplicable('20 entries');
        const { z } = mannKendall(cut);
        const { first, last } = ends(cut);
        const rise = last - first;
        const measured = { entries: cut.length, z, rise };
        return z > 3 && rise > 0.2 ? warn(measured) : pass(measured);
      },
      says: (m) => say`The share of truncated completions rose by ${m.rise}: the model forgets how to stop.`,
    }),
  ],
};
