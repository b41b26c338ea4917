/** Groups that give way to others, and the reward of length, by whole steps. */
import { describe, expect, it } from 'vitest';
import { composedLoss, type LossInput } from '../objective/index.js';
import { metricsOf } from '../observe/metrics.js';
import { recordStep } from '../observe/record-step.js';
import { stepRecordOf } from '../observe/step-record.js';
import { Supply } from '../tasks/order/supply.js';
import { ReplayStore } from './replay-store.js';
import type { Stages } from './stages.js';
import { fixtureModel, flatWhere, PROBLEMS, rewarding, trainerOf } from './step.test.helper.js';

/** The standard objective, with its input at each call. */
function watched(): { seen: LossInput[]; objective: Stages['objective'] } {
  const seen: LossInput[] = [];
  const objective: Stages['objective'] = (input) => {
    const old = input.oldLogprobs_T && { oldLogprobs_T: input.oldLogprobs_T.toNumbers() };
    seen.push({ ...input, ...(old as object) });
    return composedLoss(input);
  };
  return { seen, objective };
}

/** Rewards by the length of completions: of the rest nothing is known. */
const byLength = rewarding((_, { ids }) => ids.length);

const ONE_BATCH = 'train.microBatchTokens=100000';

it('a step that neither refills nor replays keeps its flat groups', async () => {
  const trainer = trainerOf(fixtureModel('llama3'), [ONE_BATCH], { score: flatWhere((p) => p === 1) });
  const { batch } = await recordStep(trainer, PROBLEMS, 0, 0);
  expect(batch.exchange).toBeUndefined();
  expect(batch.problems).toEqual(PROBLEMS);
  expect(batch.advantages.zeroVariance).toBe(0.25);
});

describe('a step that refills', () => {
  const settings = ['groups.refills=2', 'rollout.group=4', ONE_BATCH];

  const refill = async (step: number, supply: Supply) => {
    let round = 0;
    // Two of the step's own groups are flat, one of the first round's, none of the second's.
    const rounds = [(p: number) => p === 1 || p === 3, (p: number) => p === 0, () => false];
    const score: Stages['score'] = (...args) => flatWhere(rounds[round++]!)(...args);
    const { seen, objective } = watched();
    const trainer = { ...trainerOf(fixtureModel('llama3'), settings, { score, objective }), supply };
    const result = await recordStep(trainer, PROBLEMS, step, 0.01);
    return { result, seen, trainer };
  };

  it('learns from groups of further problems in the place of flat ones', async () => {
    const supply = new Supply(PROBLEMS, 0);
    const { result, seen } = await refill(0, supply);
    const { batch } = result;
    expect(batch.exchange).toMatchObject({ sampled: 7, refilled: 2, flat: [] });
    expect(batch.advantages.zeroVariance).toBe(0);
    expect([...(seen[0]!.advantages as Float64Array)].every((a) => a !== 0)).toBe(true);
    const taken = new Supply(PROBLEMS, 0).take(3);
    expect(batch.problems).toEqual([PROBLEMS[0], taken[1], PROBLEMS[2], taken[2]]);
    // The record has the prompt that was scored: that of the further problem.
    const texts = taken.slice(1).map(({ prompt }) => prompt);
    expect([1, 3].map((p) => batch.prompts[p]!.text.endsWith(texts[p === 1 ? 0 : 1] as string))).toEqual([
      true,
      true,
    ]);
  });

  it('draws them by seed and step, no two alike', async () => {
    const idsOf = async (step: number) => {
      const { result } = await refill(step, new Supply([PROBLEMS[0]!], 0));
      return result.batch.completions_B.map(({ ids }) => ids.join());
    };
    const first = await idsOf(0);
    expect(await idsOf(0)).toEqual(first);
    expect(await idsOf(1)).not.toEqual(first);
    // All further problems are the same one, as is the first of the step.
    expect(new Set([...first.slice(0, 8), ...first.slice(12)]).size).toBe(12);
  });

  it('counts what it sampled, and measures the policy by its own problems', async () => {
    const { result } = await refill(0, new Supply(PROBLEMS, 0));
    const { exchange } = result.batch;
    const stepTokens = result.batch.sampledTokens;
    const kept = result.batch.completions_B.reduce(
      (sum, { ids }, b) => sum + ids.length + result.batch.prompts[Math.floor(b / 4)]!.ids.length,
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
    const first = await recordStep(trainer, PROBLEMS, 0, 0.02);
    isFlat = (p) => p > 0;
    const second = await recordStep(trainer, PROBLEMS, 1, 0.02, { probeScoring: true });
    return { trainer, seen, first, second };
  };

  it.each(['sampler', 'recompute'] as const)(
    'compares them with the policy that sampled them (%s)',
    async (kind) => {
      const { first, second, seen } = await twoSteps(kind);
      const { replayed } = second.batch.exchange!;
      expect([...replayed.keys()]).toEqual([1, 2, 3]);
      const old = seen[1]!.oldLogprobs_T as unknown as number[];
      let at = 0;
      let furthest = 0;
      for (const [b, { ids }] of second.batch.completions_B.entries()) {
        const stored = replayed.get(Math.floor(b / 4));
        const ofFirst =
          stored && first.batch.prompts.findIndex(({ text }) => text === stored.group.prompts[0]!.text);
        const own =
          ofFirst === undefined ? second.batch.old_B![b]! : first.batch.old_B![ofFirst * 4 + (b % 4)]!;
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
    const { advantages, deviations } = second.batch.advantages;
    const own = advantages.subarray(0, 4);
    expect(groups[4]!.score).toBeCloseTo(own.reduce((sum, a) => sum + Math.abs(a), 0) * deviations[0]!, 12);
    expect(groups[4]!.group.completions_B).toEqual(second.batch.completions_B.slice(0, 4));
  });

  it('scores a group as TRL does: Σ |advantage| × deviation', async () => {
    const score = rewarding((b) => Number(b % 4 === 0));
    const settings = [...SETTINGS, 'objective.oldLogprobs=sampler'];
    const replay = new ReplayStore(8);
    await recordStep({ ...trainerOf(fixtureModel('llama3'), settings, { score }), replay }, PROBLEMS, 0, 0);
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
    const { batch } = await recordStep(trainer, PROBLEMS, 0, 0);
    const { names, weights, columns } = batch.rewardTable;
    expect([names, weights]).toEqual([
      ['fixed', 'overlong'],
      [1, 1],
    ]);
    const lengths = batch.completions_B.map(({ ids }) => ids.length);
    expect(lengths).toContain(10);
    expect([...columns[1]!]).toEqual(lengths.map((length) => (length <= 6 ? 0 : -(length - 6) / 4)));
    expect([...batch.rewards_B]).toEqual(lengths.map((length, b) => length + columns[1]![b]!));
  });
});
