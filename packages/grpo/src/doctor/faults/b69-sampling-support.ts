import type { DeclaredSection, StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Inputs, replayedOf } from '../inputs.js';
import { supportFits } from '../measures/plain-scoring.js';
import { hasPenalties, truncates } from '../measures/sampling.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { roundingOf } from '../tolerance.js';

const SOURCES = [
  'vllm-project/vllm#49577',
  'PrimeIntellect-ai/prime-rl#3431',
  'huggingface/trl#7269',
] as const;

export const b69: Fault = {
  code: 'B69',
  name: 'sampling support',
  title:
    'The ids that sampling kept are not those that a token was drawn from, or not those that it is scored over',
  checks: [
    stepCheck({
      code: 'B69.member',
      title: 'Every token is among the ids that it could have been drawn from',
      stage: 'generation',
      level: 3,
      rank: 1,
      threshold: 'each sampled token is in its recorded support',
      sources: SOURCES,
      why: 'The supports are read a token too early or too late, or are those of another completion.',
      remedy:
        'Align the list of kept ids with the sampled tokens: one set for each, in their order, and none for the prompt.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B29', 'B39', 'B55', 'B69'],
      proofs: ['native'],
      needs: ['supports', 'ids'],
      test({ supports, ids }) {
        let tokens = 0;
        const outside: Evidence[] = [];
        for (const [completion, sets] of supports.entries()) {
          if (!sets) continue;
          for (const [token, id] of ids[completion]!.entries()) {
            tokens++;
            if (!sets.ids(token).includes(id))
              outside.push({ completion, token, values: { id, kept: sets.size(token) } });
          }
        }
        if (tokens === 0) return notApplicable('tokens with a support');
        const measured = { tokens, outside: outside.length };
        return outside.length > 0 ? fail(measured, outside) : pass(measured);
      },
      says: (m) =>
        say`${m.outside} of ${m.tokens} tokens are not among the ids that they are said to have been drawn from: the supports belong to other tokens.`,
    }),
    stepCheck({
      code: 'B69.size',
      title: 'The ids that sampling kept are as many, and hold as much, as was declared',
      stage: 'generation',
      level: 3,
      rank: 2,
      threshold:
        'with top-p alone the ids hold at least that probability, exp(plain − drawn); with top-k alone they are at least k; with min-p a token has at least min-p / n among n ids; the only id has probability 1; within 1e-4 nat in float32, 0.01 in half precision',
      sources: SOURCES,
      why: 'The recorded sets are cut off, or come from a sampler with other settings.',
      remedy:
        'Record the ids after the last truncation, all of them, and pass top-p, top-k and min-p with every request.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B39', 'B69'],
      proofs: ['native'],
      needs: ['supports', 'samplerLogprobs', 'sampledLogprobs', 'declared'],
      test(given, record) {
        const { rollout = {} } = given.declared;
        if (!truncates(rollout)) return notApplicable('top-p, top-k or min-p, declared');
        const { tokens, wrong } = misfits(given, rollout, record);
        if (tokens === 0) return notApplicable('tokens with a support');
        const measured = { tokens, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`The ids that ${m.wrong} of ${m.tokens} tokens are said to have been drawn from are fewer, or hold less probability, than the declared top-p, top-k or min-p leave.`,
    }),
    stepCheck({
      code: 'B69.scoring',
      title: 'The trainer scores each token over the ids that it was drawn from',
      stage: 'logprob',
      level: 3,
      rank: 2,
      threshold:
        'where sampler and trainer disagree, the policy’s log-probs of a completion fit its own supports, and neither the whole vocabulary nor the supports of its neighbours, within the tolerance of the precision',
      sources: SOURCES,
      why: 'Sampling divides by the probability that it kept, the trainer by that of all tokens: every ratio to the sampler is that probability.',
      remedy:
        'Take the softmax of the trainer over the recorded ids of the same token: policy, old policy and reference alike.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B19', 'B38', 'B39', 'B51', 'B55'],
      proofs: ['native'],
      needs: ['supports', 'probes', 'declared'],
      test: ({ probes, declared }, record) => supportFits('policy', probes, declared, record),
      says: (m) =>
        say`The trainer scores tokens over ${m.fits}, not over the ids that each could have been drawn from: its log-probs differ by ${m.gapThere} nat per token from the first, and by ${m.gap} from the second.`,
    }),
    stepCheck({
      code: 'B69.sampler',
      title: 'The sampler’s log-probs are those over the ids that it says it kept',
      stage: 'generation',
      level: 3,
      rank: 3,
      threshold:
        'where sampler and trainer disagree, the sampler’s log-probs of a completion fit its own supports, and neither the whole vocabulary nor the supports of its neighbours, within the tolerance of the precision',
      sources: SOURCES,
      why: 'An engine returns log-probs of the whole vocabulary unless it is told otherwise, beside the ids that it kept.',
      remedy:
        'Ask the engine for log-probs after truncation (vLLM: --logprobs-mode processed_logprobs), and align the kept ids with the tokens.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B39', 'B55'],
      proofs: ['native'],
      needs: ['supports', 'probes', 'declared'],
      test: ({ probes, declared }, record) => supportFits('sampler', probes, declared, record),
      says: (m) =>
        say`The sampler’s log-probs are those over ${m.fits} (gap ${m.gapThere} nat per token), not over the ids that it says it kept (gap ${m.gap}).`,
    }),
  ],
};

/** Tokens whose support cannot be what the declared truncation leaves. */
function misfits(
  {
    supports,
    samplerLogprobs,
    sampledLogprobs,
    declared,
  }: Pick<Inputs, 'supports' | 'samplerLogprobs' | 'sampledLogprobs' | 'declared'>,
  { topP = 1, topK = 0, minP = 0, minNewTokens = 0 }: DeclaredSection<'rollout'>,
  record: StepRecord,
): { tokens: number; wrong: Evidence[] } {
  const slack = roundingOf(record);
  const isReplayed = replayedOf(record);
  // Penalties move probability, too; ends that may not come yet are taken out before.
  const hasMass = (token: number) => !hasPenalties(declared.rollout ?? {}) && token >= minNewTokens;
  let tokens = 0;
  const wrong: Evidence[] = [];
  for (const [completion, sets] of supports.entries()) {
    // An earlier step may have had other settings.
    if (!sets || isReplayed(completion)) continue;
    for (const [token, drawn] of sampledLogprobs[completion]!.entries()) {
      tokens++;
      const kept = sets.size(token);
      const mass = Math.exp(samplerLogprobs[completion]![token]! - drawn);
      const tooFew = topK > 0 && topP === 1 && minP === 0 && kept < topK && kept < vocabularyOf(record);
      const tooLittle = hasMass(token) && topK === 0 && minP === 0 && mass < topP - slack;
      const tooMuch = hasMass(token) && mass > 1 + slack;
      const tooUnlikely = minP > 0 && drawn < Math.log(minP / kept) - slack;
      const isAlone = kept === 1 && drawn < -slack;
      if (tooFew || tooLittle || tooMuch || tooUnlikely || isAlone)
        wrong.push({ completion, token, values: { kept, mass, drawn } });
    }
  }
  return { tokens, wrong };
}

const vocabularyOf = ({ tokenizer }: StepRecord) => tokenizer?.vocabularySize ?? Number.POSITIVE_INFINITY;
