import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { temperatureOf } from '../measures/plain-scoring.js';
import { hasPenalties, truncates } from '../measures/sampling.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';
import { roundingOf, WITHIN_ROUNDING } from '../tolerance.js';

export const b18: Fault = {
  code: 'B18',
  name: 'sampling override',
  title: 'generation_config.json overrides the requested sampling',
  checks: [
    stepCheck({
      code: 'B18.override',
      title: 'Tokens are sampled as declared',
      stage: 'generation',
      level: 2,
      rank: 3,
      threshold: `where no truncation and no penalty is declared, the log-probs before and after them agree within ${WITHIN_ROUNDING}`,
      sources: ['OpenPipe/ART#140', 'verl-project/verl#7270', 'NVIDIA-NeMo/RL#3497'],
      why: 'generation_config.json overrides the requested settings.',
      remedy:
        'Read the sampling parameters back from the engine, and pass every parameter explicitly, even neutral ones.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B39'],
      proofs: ['native'],
      needs: ['declared', 'samplerLogprobs', 'sampledLogprobs'],
      test({ declared: { rollout = {} }, samplerLogprobs, sampledLogprobs }, record) {
        const { topP, topK } = rollout;
        if (topP === undefined || topK === undefined || truncates(rollout) || hasPenalties(rollout))
          return notApplicable('sampling without truncation and penalties, declared');
        if (rollout.temperature === 0 || (rollout.minNewTokens ?? 0) > 0)
          return notApplicable('a temperature above 0, and no minimum length');
        if (record.diffusion)
          return notApplicable('a sampler that draws every token: the mask is never drawn');
        const bound = roundingOf(record);
        const moved = samplerLogprobs.flatMap((row, completion): Evidence[] => {
          const drawn = sampledLogprobs[completion]!;
          let token = 0;
          while (token < row.length && !(Math.abs(row[token]! - drawn[token]!) > bound)) token++;
          return token === row.length
            ? []
            : [{ completion, token, values: { plain: row[token]!, drawn: drawn[token]! } }];
        });
        const measured = { completions: samplerLogprobs.length, moved: moved.length };
        return moved.length > 0 ? fail(measured, moved) : pass(measured);
      },
      says: (m) =>
        say`${m.moved} of ${m.completions} completions were not sampled as declared: no truncation or penalty is declared, yet the log-probs before and after them differ. The engine takes settings from elsewhere, such as generation_config.json.`,
    }),
    stepCheck({
      code: 'B18.temperature',
      title: 'The sampler uses the declared temperature',
      stage: 'generation',
      level: 3,
      rank: 3,
      threshold:
        'where sampler and trainer disagree, the sampler’s log-probs of a completion fit no temperature but the declared one, within the tolerance of the precision; not applicable to a lower one without a token that the sampler made less likely',
      sources: ['OpenPipe/ART#140', 'verl-project/verl#7270', 'NVIDIA-NeMo/RL#3497'],
      why: 'generation_config.json overrides the requested settings.',
      remedy:
        'Read the sampling parameters back from the engine, and always pass the temperature explicitly.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B19', 'B39', 'B55'],
      proofs: ['native'],
      needs: ['probes', 'declared'],
      test: ({ probes, declared }, record) =>
        temperatureOf('sampler', probes, declared.rollout?.temperature, record),
      says: (m) =>
        say`Completions were sampled at temperature ${m.fits} (gap ${m.gapThere} nat per token), not at the declared ${m.declared} (gap ${m.gap}): the engine uses settings of its own.`,
    }),
  ],
};
