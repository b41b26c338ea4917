import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { isFull } from '../tolerance.js';

export const b13: Fault = {
  code: 'B13',
  name: 'attention mask',
  title: 'Attention mask or positions are missing in scoring',
  checks: [
    stepCheck({
      code: 'B13.alone',
      title: 'A completion’s log-probs do not depend on its neighbours in the batch',
      stage: 'logprob',
      kind: 'identity',
      level: 3,
      rank: 5,
      threshold:
        'a row scored alone and in the batch: largest difference ≤ 1e-3 in float32, ≤ 0.5 in half precision',
      sources: ['huggingface/trl#6800', 'OpenRLHF/OpenRLHF#217', 'huggingface/trl#469'],
      why: 'Scores moved by up to 34 nats without position ids under left padding.',
      remedy: 'Pass the same attention mask and position ids to scoring as to sampling.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B38', 'B39', 'B49', 'B51'],
      proofs: ['native'],
      needs: ['probes'],
      test({ probes: { aloneInBatch } }, record) {
        if (!aloneInBatch?.tokens) return notApplicable('probes.aloneInBatch');
        const bound = isFull(record) ? 1e-3 : 0.5;
        const { mean, max, tokens } = aloneInBatch;
        const measured = { mean, max, tokens, bound };
        return max <= bound ? pass(measured) : fail(measured);
      },
      says: (m) =>
        say`The log-probs of a completion scored alone and scored in the batch differ by up to ${m.max} nats per token.`,
    }),
  ],
};
