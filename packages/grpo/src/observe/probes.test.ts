import { tensor } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { type Stages, stages as standardStages } from '../step/stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import type { ProbeScoring } from './probes.js';
import { recordStep } from './record-step.js';

/** What the first update of a step on a fixture measures besides. */
async function probesOf(probeScoring: ProbeScoring, stages: Partial<Stages> = {}) {
  const trainer = trainerOf(fixtureModel('llama3'), [], { score: spreadRewards, ...stages });
  return (await recordStep(trainer, PROBLEMS, 0, 1e-3, { probeScoring })).probes;
}

describe('probes of scoring', () => {
  it('find a right trainer scoring alone as in the batch', async () => {
    const { aloneInBatch, repeatedScoring, plainScoring } = (await probesOf(true))!;
    expect(aloneInBatch!.tokens).toBeGreaterThan(0);
    expect(aloneInBatch!.max).toBeLessThan(1e-4);
    expect(repeatedScoring!.max).toBeLessThan(1e-4);
    expect(plainScoring).toBeUndefined();
  });

  it('are not taken of a right trainer where only disagreement is looked into', async () => {
    expect(await probesOf('where they differ')).toEqual({});
    expect(await probesOf(false)).toBeUndefined();
  });

  it('find the temperature that a trainer scores at in place of the declared one', async () => {
    const logprob: Stages['logprob'] = (decoder, groups) => standardStages.logprob(decoder, groups, 0.7);
    const { plainScoring } = (await probesOf('where they differ', { logprob }))!;
    const fits = plainScoring!.filter(({ policy }) => policy.mean < 1e-4);
    expect(fits.map(({ temperature, shift }) => [temperature, shift])).toEqual([[0.7, 0]]);
  });

  it('look at the completion on which trainer and sampler disagree most', async () => {
    const lengths = PROBLEMS.map(({ prompt }) => String(prompt).length);
    const longest = lengths.indexOf(Math.max(...lengths));
    // Only among others, and only those of the longest prompt, which is not the one that is looked at otherwise.
    const logprob: Stages['logprob'] = (decoder, groups, temperature) => {
      const scores = standardStages.logprob(decoder, groups, temperature);
      const wrong = groups.flatMap(({ completions }, p) =>
        completions.flatMap((ids) => ids.map(() => (groups.length > 1 && p === longest ? 0.5 : 0))),
      );
      return { ...scores, logprobs_T: scores.logprobs_T.add(tensor(wrong)) };
    };
    const { aloneInBatch } = (await probesOf('where they differ', { logprob }))!;
    expect(aloneInBatch!.max).toBeCloseTo(0.5, 4);
  });

  it('find a scoring that chance has a part in', async () => {
    let calls = 0;
    const logprob: Stages['logprob'] = (decoder, groups, temperature) => {
      const scores = standardStages.logprob(decoder, groups, temperature);
      return { ...scores, logprobs_T: scores.logprobs_T.add(0.01 * ++calls) };
    };
    const { repeatedScoring } = (await probesOf('where they differ', { logprob }))!;
    expect(repeatedScoring!.max).toBeCloseTo(0.01, 4);
  });
});
