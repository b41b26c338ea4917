/** What becomes of groups and completions that teach nothing, by whole steps. */
import { describe, expect, it } from 'vitest';
import { composedLoss, type LossInput } from '../objective/index.js';
import type { Completion } from '../rollout/index.js';
import { metricsOf } from './metrics.js';
import { ReplayStore } from './replay.js';
import { tokensOf } from './roll-out.js';
import type { Stages } from './stages.js';
import { grpoStep } from './step.js';
import {
  fixtureModel,
  PROBLEMS,
  rewarding,
  spreadRewards,
  trainerOf,
  weightsOf,
} from './step.test.helper.js';
import { stepRecordOf } from './step-record.js';
import { Supply } from './supply.js';

/** An objective that is the standard one, and what it was given at each call. */
function watched(): { seen: LossInput[]; objective: Stages['objective'] } {
  const seen: LossInput[] = [];
  const objective: Stages['objective'] = (input) => {
    const old = input.oldLogprobs_T && { oldLogprobs_T: input.oldLogprobs_T.toNumbers() };
    seen.push({ ...input, ...(old as object) });
    return composedLoss(input);
  };
  return { seen, objective };
}

/** Groups of four: flat where `isFlat` says so of the place of the group. */
const flatWhere = (isFlat: (p: number) => boolean) =>
  rewarding((b) => (isFlat(Math.floor(b / 4)) ? 0.2 : Math.sin(3 * b)));

/** Rewards by the length of completions: of the rest nothing is known. */
const byLength = rewarding((_, { ids }) => ids.length);

const ONE_BATCH = 'train.microBatchTokens=100000';

describe('a step that refills', () => {
  const settings = ['groups.refills=2', 'rollout.group=4', ONE_BATCH];

  const refill = async (step: number, supply: Supply) => {
    let round = 0;
    // Of the step's own groups two are flat, of those of the first round one, of those of the second none.
    const rounds = [(p: number) => p === 1 || p === 3, (p: number) => p === 0, () => false];
    const score: Stages['score'] = (...args) => flatWhere(rounds[round++]!)(...args);
    const { seen, objective } = watched();
    const trainer = { ...trainerOf(fixtureModel('llama3'), settings, { score, objective }), supply };
    const result = await grpoStep(trainer, PROBLEMS, step, 0.01);
    return { result, seen, trainer };
  };

  it('learns from groups of further problems in the place of flat ones', async () => {
    const supply = new Supply(PROBLEMS, 0);
    const { result, seen } = await refill(0, supply);
    const { rollout } = result;
    expect(rollout.exchange).toMatchObject({ sampled: 7, refilled: 2, flat: [] });
    expect(rollout.advantages.zeroVariance).toBe(0);
    expect([...(seen[0]!.advantages as Float64Array)].every((a) => a !== 0)).toBe(true);
    const taken = new Supply(PROBLEMS, 0).take(3);
    expect(rollout.problems).toEqual([PROBLEMS[0], taken[1], PROBLEMS[2], taken[2]]);
    // What was scored is what stands in the record: the prompt of the further problem.
    const texts = taken.slice(1).map(({ prompt }) => prompt);
    expect([1, 3].map((p) => rollout.prompts[p]!.text.endsWith(texts[p === 1 ? 0 : 1] as string))).toEqual([
      true,
      true,
    ]);
  });

  it('draws them by seed and step, no two alike', async () => {
    const idsOf = async (step: number) => {
      const { result } = await refill(step, new Supply([PROBLEMS[0]!], 0));
      return result.rollout.completions_B.map(({ ids }) => ids.join());
    };
    const first = await idsOf(0);
    expect(await idsOf(0)).toEqual(first);
    expect(await idsOf(1)).not.toEqual(first);
    // All further problems are the same one, as is the first of the step.
    expect(new Set([...first.slice(0, 8), ...first.slice(12)]).size).toBe(12);
  });

  it('counts what it sampled, and measures the policy by its own problems', async () => {
    const { result } = await refill(0, new Supply(PROBLEMS, 0));
    const { exchange } = result.rollout;
    const stepTokens = tokensOf(result.rollout);
    const kept = result.rollout.completions_B.reduce(
      (sum, { ids }, b) => sum + ids.length + result.rollout.prompts[Math.floor(b / 4)]!.ids.length,
      0,
    );
    expect(stepTokens).toBeGreaterThan(kept);
    const row = metricsOf(result, 1, { tokens: stepTokens, stepTokens });
    expect(row).toMatchObject({
      groups_sampled: 7,
      groups_refilled: 2,
      groups_replayed: 0,
      groups_flat: 0,
      frac_reward_zero_std: 0.5,
      step_tokens: stepTokens,
    });
    const { rewards_B } = exchange!.own;
    expect(row.reward).toBeCloseTo(rewards_B.reduce((a, b) => a + b, 0) / 16, 12);
  });
});

describe('a step that replays', () => {
  const SETTINGS = ['groups.replay=8', 'rollout.group=4', ONE_BATCH];

  /** Two steps: the first stores its groups, in the second three of four are flat. */
  const twoSteps = async (kind: 'sampler' | 'recompute') => {
    const { seen, objective } = watched();
    let isFlat = (_: number) => false;
    const score: Stages['score'] = (...args) => flatWhere((p) => isFlat(p))(...args);
    const settings = [...SETTINGS, `objective.oldLogprobs=${kind}`];
    const trainer = {
      ...trainerOf(fixtureModel('llama3'), settings, { score, objective }),
      replay: new ReplayStore(8),
    };
    const first = await grpoStep(trainer, PROBLEMS, 0, 0.02);
    isFlat = (p) => p > 0;
    const second = await grpoStep({ ...trainer, probeScoring: true }, PROBLEMS, 1, 0.02);
    return { trainer, seen, first, second };
  };

  it.each(['sampler', 'recompute'] as const)(
    'compares them with the policy that sampled them (%s)',
    async (kind) => {
      const { first, second, seen } = await twoSteps(kind);
      const { replayed } = second.rollout.exchange!;
      expect([...replayed.keys()]).toEqual([1, 2, 3]);
      const old = seen[1]!.oldLogprobs_T as unknown as number[];
      let at = 0;
      let furthest = 0;
      for (const [b, { ids }] of second.rollout.completions_B.entries()) {
        const stored = replayed.get(Math.floor(b / 4));
        const ofFirst =
          stored && first.rollout.prompts.findIndex(({ text }) => text === stored.group.prompts[0]!.text);
        const own =
          ofFirst === undefined ? second.frozen.old_B![b]! : first.frozen.old_B![ofFirst * 4 + (b % 4)]!;
        expect(old.slice(at, at + ids.length)).toEqual([...own]);
        if (stored) {
          const policy = second.updates[0]!.policyLogprobs!.subarray(at, at + ids.length);
          for (const [t, value] of policy.entries()) furthest = Math.max(furthest, Math.abs(value - own[t]!));
        }
        at += ids.length;
      }
      // The policy has moved since: a ratio of 1 would be wrong.
      expect(furthest).toBeGreaterThan(0.01);
      // Where the sampler is compared with the trainer, they are left out.
      expect(second.metrics['sampling/sampling_logp_difference/max']).toBeLessThan(1e-4);
      expect(second.probes!.aloneInBatch!.max).toBeLessThan(1e-4);
      expect(second.probes!.plainScoring).toBeUndefined();
    },
  );

  it('stores what it sampled itself and could compare, once', async () => {
    const { trainer, second } = await twoSteps('sampler');
    const { groups } = trainer.replay;
    expect(groups.map(({ step }) => step)).toEqual([0, 0, 0, 0, 1]);
    const { advantages, deviations } = second.rollout.advantages;
    const own = advantages.subarray(0, 4);
    expect(groups[4]!.score).toBeCloseTo(own.reduce((sum, a) => sum + Math.abs(a), 0) * deviations[0]!, 12);
    expect(groups[4]!.group.completions_B).toEqual(second.rollout.completions_B.slice(0, 4));
  });

  it('scores a group as TRL does: Σ |advantage| × deviation', async () => {
    const score = rewarding((b) => Number(b % 4 === 0));
    const settings = [...SETTINGS, 'objective.oldLogprobs=sampler'];
    const replay = new ReplayStore(8);
    await grpoStep({ ...trainerOf(fixtureModel('llama3'), settings, { score }), replay }, PROBLEMS, 0, 0);
    for (const { score: own } of replay.groups) expect(own).toBeCloseTo(1.49970006, 8);
  });

  it('marks them in the record, and not in the metrics of the policy', async () => {
    const { trainer, second } = await twoSteps('sampler');
    const record = stepRecordOf(trainer, second, 2);
    expect([...record.prompts!.replayed!]).toEqual([0, 1, 1, 1]);
    const row = metricsOf(second, 2, { tokens: 1, stepTokens: 1 });
    expect(row).toMatchObject({ groups_replayed: 3, groups_flat: 0, frac_reward_zero_std: 0.75 });
    const { first } = await twoSteps('sampler');
    expect(stepRecordOf(trainer, first, 1).prompts!.replayed).toBeUndefined();
  });
});

describe('groups.overlongBuffer', () => {
  it('is a reward of its own, by tokens', async () => {
    const settings = ['groups.overlongBuffer=4', 'rollout.maxNewTokens=10'];
    const trainer = trainerOf(fixtureModel('llama3'), settings, { score: byLength });
    const { rollout } = await grpoStep(trainer, PROBLEMS, 0, 0);
    const { names, weights, columns } = rollout.rewardTable;
    expect([names, weights]).toEqual([
      ['fixed', 'overlong'],
      [1, 1],
    ]);
    const lengths = rollout.completions_B.map(({ ids }) => ids.length);
    expect(lengths).toContain(10);
    expect([...columns[1]!]).toEqual(lengths.map((length) => (length <= 6 ? 0 : -(length - 6) / 4)));
    expect([...rollout.rewards_B]).toEqual(lengths.map((length, b) => length + columns[1]![b]!));
  });
});

/** A sample stage whose completions have one to six tokens; those of six were cut. */
const someCut: Stages['sample'] = async (_model, requests) =>
  requests.map(({ count }, p) =>
    Array.from({ length: count }, (_, g): Completion => {
      const length = 1 + ((p + 2 * g) % 6);
      const ids = Array.from({ length }, (_, t) => 5 + ((7 * p + 3 * g + t) % 40));
      const logprobs = new Float32Array(length).fill(-3);
      const finishReason = length >= 5 ? 'length' : 'stop';
      return { ids, text: '', finishReason, logprobs, sampledLogprobs: logprobs };
    }),
  );

const allCut: Stages['sample'] = async (...args) =>
  (await someCut(...args)).map((group) => group.map((one) => ({ ...one, finishReason: 'length' })));

describe('objective.maskTruncated', () => {
  const LOSSES = ['grpo', 'dapo', 'dr_grpo', 'bnpo', 'luspo', 'cispo', 'sapo'];

  it.each(LOSSES)('gives cut completions no weight in %s, and the others theirs', async (loss) => {
    const settings = [`objective.loss=${loss}`, 'objective.maskTruncated=true', 'kl.beta=0.1'];
    const model = fixtureModel('llama3');
    const stages = { sample: someCut, score: spreadRewards };
    const trainer = trainerOf(model, settings, stages, fixtureModel('llama3').decoder);
    const { rollout, updates } = await grpoStep(trainer, PROBLEMS, 0, 0);
    const { weights, klWeights = weights } = updates[0]!;
    let at = 0;
    const trained = rollout.completions_B.filter((one) => one.finishReason === 'stop');
    const tokens = trained.reduce((sum, { ids }) => sum + ids.length, 0);
    const expected: Record<string, (length: number) => number> = {
      grpo: (length) => 1 / (16 * length),
      sapo: (length) => 1 / (16 * length),
      dapo: () => 1 / tokens,
      cispo: () => 1 / tokens,
      bnpo: () => 1 / tokens,
      dr_grpo: () => 1 / (16 * 10),
      luspo: () => 1 / 16,
    };
    expect(trained.length).toBeGreaterThan(0);
    for (const { ids, finishReason } of rollout.completions_B) {
      const own = finishReason === 'stop' ? expected[loss]!(ids.length) : 0;
      for (let t = 0; t < ids.length; t++, at++) {
        expect(weights![at]).toBeCloseTo(own, 6);
        expect(klWeights![at]).toBeCloseTo(own, 6);
      }
    }
    // They count in the comparison of their group.
    expect(rollout.advantages.advantages.every((a) => a !== 0)).toBe(true);
  });

  it.each(LOSSES)('of nothing but cut completions changes no weight (%s)', async (loss) => {
    const settings = [`objective.loss=${loss}`, 'objective.maskTruncated=true', 'kl.beta=0.1'];
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const stages = { sample: allCut, score: spreadRewards };
    const trainer = trainerOf(model, settings, stages, fixtureModel('llama3').decoder);
    const result = await grpoStep(trainer, PROBLEMS, 0, 0.1);
    expect([result.loss, result.gradNorm]).toEqual([expect.closeTo(0, 12), 0]);
    expect(weightsOf(model.decoder)).toEqual(before);
    // What is a mean of nothing is left out, not NaN.
    const row = metricsOf(result, 1, { tokens: 1, stepTokens: 1 });
    expect(Object.entries(row).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
    expect([...new Set(stepRecordOf(trainer, result, 1).scored!.mask)]).toEqual([0]);
  });
});

describe('advantage.flat=drop', () => {
  const settings = ['advantage.flat=drop', 'kl.beta=0.1', ONE_BATCH];

  it.each(['dapo', 'grpo'])(
    'leaves flat groups out of the update and of what %s divides by',
    async (loss) => {
      const { seen, objective } = watched();
      const stages = { sample: someCut, score: flatWhere((p) => p === 1), objective };
      const reference = fixtureModel('llama3').decoder;
      const model = fixtureModel('llama3');
      const trainer = trainerOf(model, [...settings, `objective.loss=${loss}`], stages, reference);
      const { rollout, updates } = await grpoStep(trainer, PROBLEMS, 0, 0);
      expect(rollout.advantages.dropped).toEqual([1]);
      expect([...updates[0]!.completions!]).toEqual([0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]);
      const lengths = rollout.completions_B.map(({ ids }) => ids.length);
      const tokens = lengths.filter((_, b) => b < 4 || b >= 8).reduce((a, b) => a + b, 0);
      expect(seen.map(({ update }) => update)).toEqual([{ completions: 12, tokens }]);
      const total = updates[0]!.weights!.reduce((a, b) => a + b, 0);
      expect(total).toBeCloseTo(1, 5);
    },
  );

  it('keeps a minibatch that loses one group, and skips one that loses all', async () => {
    const { seen, objective } = watched();
    const stages = { sample: someCut, score: flatWhere((p) => p >= 1), objective };
    const several = ['objective.minibatches=2', 'objective.oldLogprobs=sampler', 'rollout.prompts=4'];
    const trainer = trainerOf(fixtureModel('llama3'), ['advantage.flat=drop', ONE_BATCH, ...several], stages);
    const { updates } = await grpoStep(trainer, PROBLEMS, 0, 0.01);
    expect(updates.map(({ completions }) => [...completions!])).toEqual([[0, 1, 2, 3]]);
    expect(seen[0]!.update.completions).toBe(4);
  });

  it('keeps all where all are flat: the KL is left to learn from', async () => {
    const stages = { sample: someCut, score: flatWhere(() => true) };
    const reference = fixtureModel('llama3').decoder;
    const trainer = trainerOf(fixtureModel('llama3'), settings, stages, reference);
    const { updates } = await grpoStep(trainer, PROBLEMS, 0, 0.01);
    expect(updates.map(({ completions }) => completions!.length)).toEqual([16]);
  });
});
