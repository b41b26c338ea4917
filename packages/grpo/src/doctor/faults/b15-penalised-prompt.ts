import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { hasPenalties, truncates } from '../measures/sampling.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { roundingOf, WITHIN_ROUNDING } from '../tolerance.js';

export const b15: Fault = {
  code: 'B15',
  name: 'penalised prompt',
  title: 'Penalties apply to the prompt',
  checks: [
    stepCheck({
      code: 'B15.first-token',
      title: 'Penalties do not change the first token',
      stage: 'generation',
      level: 2,
      rank: 3,
      threshold: `with penalties declared, the first token’s two log-probs agree within ${WITHIN_ROUNDING}, since nothing was generated before it; where truncation is declared too, the log-prob of the sampled distribution is not lower`,
      sources: ['huggingface/transformers#36642', 'parity/trl_faults.py'],
      why: 'Penalties that see the prompt make its words less likely; relative to them, the end token becomes up to 3000 times likelier.',
      remedy: 'Count only generated tokens in presence, frequency and repetition penalties.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B03', 'B08', 'B19', 'B39'],
      proofs: ['native', 'TRL run'],
      needs: ['declared', 'samplerLogprobs', 'sampledLogprobs'],
      test({ declared: { rollout = {} }, samplerLogprobs, sampledLogprobs }, record) {
        if (!hasPenalties(rollout)) return notApplicable('declared penalties');
        if (rollout.temperature === 0) return notApplicable('a temperature above 0');
        // Tokens that truncation keeps become likelier.
        const bound = roundingOf(record);
        const cut = truncates(rollout) || (rollout.minNewTokens ?? 0) > 0;
        const moved = samplerLogprobs.flatMap((row, completion): Evidence[] => {
          const [plain, drawn] = [row[0] ?? 0, sampledLogprobs[completion]![0] ?? 0];
          const differ = cut ? drawn < plain - bound : Math.abs(plain - drawn) > bound;
          return differ ? [{ completion, token: 0, values: { plain, drawn } }] : [];
        });
        const measured = { completions: samplerLogprobs.length, moved: moved.length };
        return moved.length > 0 ? fail(measured, moved) : pass(measured);
      },
      says: (m) =>
        say`The first token of ${m.moved} of ${m.completions} completions was not sampled from the model's distribution, though nothing had been generated that a penalty could apply to: the penalties see the prompt.`,
    }),
  ],
};
