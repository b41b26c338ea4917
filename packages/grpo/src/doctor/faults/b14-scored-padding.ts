import { nonzero, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { valuesAt } from '../log-view.js';
import { paddedFrom, paddingFrom } from '../measures/end-token.js';
import { type Evidence, fail, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Totals this near 0 belong to nearly certain text, which may repeat. */
const CERTAIN = 10;
const SPREAD = 0.05;
/** Different completions with one total that rounding does not explain. */
const EQUAL = 3;

export const b14: Fault = {
  code: 'B14',
  name: 'scored padding',
  title: 'Log-probs are summed over padding',
  checks: [
    stepCheck({
      code: 'B14.beyond',
      title: 'Nothing after the last token of a completion is scored',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold: 'no mask beyond the sampled length',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Sums run over the completion mask, which ends with the completion.',
      remedy: 'Sum over the sampled tokens only.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B11', 'B38', 'B46', 'B49'],
      proofs: ['native'],
      needs: ['lengths', 'masks'],
      test({ lengths, masks }) {
        const beyond = masks.flatMap((mask, completion): Evidence[] => {
          const extra = mask.length > lengths[completion]! ? nonzero(mask.subarray(lengths[completion]!)) : 0;
          return extra > 0 ? [{ completion, token: lengths[completion]!, values: { extra } }] : [];
        });
        const measured = { completions: masks.length, beyond: beyond.length };
        return beyond.length > 0 ? fail(measured, beyond) : pass(measured);
      },
      says: (m) => say`${m.beyond} of ${m.completions} completions are scored beyond their last token.`,
    }),
    stepCheck({
      code: 'B14.padding',
      title: 'The padding after a completion is not trained on',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold:
        'no mask 1 at a padding token that follows an end token and has nothing but padding behind it; where this is so in two completions or more, also where the end token is the padding token, and where two padding tokens or more follow any other token',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'The mask of a completion ends with its first end token.',
      remedy:
        'Make the mask from the first end token of each completion: 1 up to it and on it, 0 behind it. Every token that ends a completion for the sampler must be one for the mask.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B16', 'B17', 'B19', 'B35', 'B39', 'B46', 'B49', 'H02', 'H05'],
      proofs: ['PyTorch loop'],
      needs: ['ids', 'endIds', 'padId', 'masks'],
      test({ ids, endIds, padId, masks }) {
        const isEnd = endIds.includes(padId);
        const padded = ids.flatMap((row, completion): Evidence[] => {
          const from = paddingFrom(row, endIds, padId) ?? (isEnd ? undefined : paddedFrom(row, padId));
          const trained = from === undefined ? 0 : nonzero(masks[completion]!.subarray(from));
          return trained > 0 ? [{ completion, token: from!, values: { id: padId, trained } }] : [];
        });
        const measured = { completions: ids.length, padded: padded.length };
        const isAfterEnd = padded.some(({ completion }) => paddingFrom(ids[completion!]!, endIds, padId));
        return padded.length > (isAfterEnd && !isEnd ? 0 : 1) ? fail(measured, padded) : pass(measured);
      },
      says: (m) =>
        say`In ${m.padded} of ${m.completions} completions the loss mask covers the padding behind the last token: the model is trained to write padding.`,
    }),
    logCheck({
      code: 'B14.log',
      title: 'Summed log-probs end with the completion',
      stage: 'masks',
      level: 2,
      rank: 4,
      threshold: `no prompt has ${EQUAL} or more different completions with the same total of the reference while all totals spread by less than ${100 * SPREAD} %`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Sums that included 200 padding tokens gave different completions the same total.',
      remedy: 'Sum over the completion’s own tokens: stop at its end token, not at the width of the batch.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B46'],
      settles: 'The total of one completion scored alone, without padding.',
      proofs: ['log only'],
      needs: ['sequence_logprob_reference/equal', 'sequence_logprob_reference/spread'],
      test(log) {
        const [equal, spread] = [
          log.column('sequence_logprob_reference/equal'),
          log.column('sequence_logprob_reference/spread'),
        ];
        const totals = log.column('sequence_logprob_reference');
        const alike = [...equal.keys()].filter(
          (i) => equal[i]! >= EQUAL && spread[i]! < SPREAD && Math.abs(totals[i]!) > CERTAIN,
        );
        const [first] = alike;
        const measured = {
          entries: withoutNaN(equal).length,
          alike: alike.length,
          ...(first !== undefined && { equal: equal[first]!, spread: spread[first]!, total: totals[first]! }),
        };
        const names = ['sequence_logprob_reference', 'sequence_logprob_reference/equal'];
        return alike.length > 0
          ? warn(
              measured,
              alike.map((i) => valuesAt(log, i, names)),
            )
          : pass(measured);
      },
      says: (m) =>
        say`Up to ${m.equal} different completions of a prompt have the same total log-prob (${m.total} nats on average), and all totals lie within ${m.spread} of their mean: the sum includes the padding after the completion.`,
    }),
  ],
};
