import { mean } from '../../maths/moments.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { membersOf } from '../inputs.js';
import { ofFirstUpdate, sampledMasks } from '../measures/first-update.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';
import { compare, isFull, toleranceOf } from '../tolerance.js';

export const b13: Fault = {
  code: 'B13',
  name: 'attention mask',
  title: 'Attention mask or positions are missing in scoring',
  checks: [
    stepCheck({
      code: 'B13.alone',
      title: 'A completion’s log-probs do not depend on its neighbours in the batch',
      stage: 'logprob',
      level: 3,
      rank: 5,
      threshold:
        'a row scored alone and in the batch: largest difference ≤ 1e-3 in float32, ≤ 0.5 in half precision',
      sources: ['huggingface/trl#6800', 'OpenRLHF/OpenRLHF#217', 'huggingface/trl#469'],
      why: 'Scores moved by up to 34 nats without position ids under left padding.',
      remedy:
        'Pass the same attention mask and position ids to scoring as to sampling. Where these are the same, look at the places that log-probs are read from.',
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
    stepCheck({
      code: 'B13.padding',
      title: 'Sampler and trainer agree as well on short prompts as on the longest',
      stage: 'logprob',
      level: 3,
      rank: 4,
      threshold:
        'at the first update: reported when the prompts on whose completions both agree within the tolerance of the precision are each longer than those on which they do not, of which there are two or more',
      sources: ['huggingface/trl#6800', 'OpenRLHF/OpenRLHF#217', 'huggingface/trl#469'],
      why: 'The longest prompt of a batch is the one without padding.',
      remedy:
        'Pass the attention mask to scoring, and position ids that begin behind the padding: cumsum(mask) − 1.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B38', 'B39', 'B49', 'B51', 'B55', 'H05'],
      settles: 'One completion of a short prompt, scored alone and scored in the batch.',
      proofs: ['native', 'PyTorch loop'],
      needs: ['promptIds', 'promptOf', 'firstPolicyLogprobs', 'comparableLogprobs'],
      test({ promptIds, promptOf, firstPolicyLogprobs, comparableLogprobs }, record) {
        const { mean: tolerance } = toleranceOf(record);
        const rows = membersOf(record, record.updates![0]!);
        const masks = sampledMasks(record);
        const others = ofFirstUpdate(record, comparableLogprobs);
        const prompts = promptIds.flatMap(({ length }, p) => {
          const own = [...rows.keys()].filter((i) => promptOf[rows[i]!] === p);
          const of = <A>(all: readonly A[]) => own.map((i) => all[i]!);
          const gap = compare(of(firstPolicyLogprobs), of(others), masks && of(masks));
          return gap.tokens > 0 ? [{ prompt: p, length, gap: gap.mean }] : [];
        });
        const agree = prompts.filter(({ gap }) => gap <= tolerance);
        const apart = prompts.filter(({ gap }) => !(gap <= tolerance));
        if (agree.length === 0 || new Set(prompts.map(({ length }) => length)).size < 2)
          return notApplicable('prompts of different lengths, on some of which sampler and trainer agree');
        const longest = Math.max(0, ...apart.map(({ length }) => length));
        const measured = {
          agree: agree.length,
          apart: apart.length,
          gap: mean(apart.map(({ gap }) => gap)),
        };
        if (apart.length < 2 || agree.some(({ length }) => length <= longest)) return pass(measured);
        return warn(
          measured,
          apart.map(({ prompt, length, gap }) => ({ prompt, values: { tokens: length, gap } })),
        );
      },
      says: (m) =>
        say`Sampler and trainer agree on the ${m.agree === 1 ? 'longest prompt' : say`${m.agree} longest prompts`} of the batch, and differ by ${m.gap} nat per token on the ${m.apart} shorter ones: scoring sees the padding before them, or counts it in the positions.`,
    }),
  ],
};
