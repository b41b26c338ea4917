import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import type { AdvantageSettings, LossInput } from '../objective/index.js';
import type { Batch } from '../step/batch.js';
import { Control } from '../step/control.js';
import { type Stages, stages as standard } from '../step/stages.js';
import type { HandOver } from '../trace/index.js';
import { disagreements } from './audit.test.helper.js';

afterAll(disposePolicies);

/** Advantages by other settings than declared. */
const comparing = (change: Partial<AdvantageSettings>): LabRun => ({
  stages: {
    advantage: (rewards, size, settings) => standard.advantage(rewards, size, { ...settings, ...change }),
  },
});

/** Advantages that are changed. */
const advantages = (change: (values: Float64Array) => Float64Array): LabRun => ({
  stages: {
    advantage(...args) {
      const own = standard.advantage(...args);
      return { ...own, advantages: change(own.advantages) };
    },
  },
});

/** A loss that takes other than it is given. */
const losing = (change: (input: LossInput) => Partial<LossInput>, settings: string[] = []): LabRun => ({
  settings,
  stages: { objective: (input) => standard.objective({ ...input, ...change(input) }) },
});

/** Those of the step before. */
function late(): Stages['advantage'] {
  let last: Float64Array | undefined;
  return (...args) => {
    const own = standard.advantage(...args);
    const advantages = last ?? own.advantages;
    last = own.advantages;
    return { ...own, advantages };
  };
}

const WEIGHT = 'weight of a token in the loss';

/** The mask, changed in the last token of each completion. */
function withoutEnds({ mask, lengths }: LossInput): Uint8Array {
  const cut = Uint8Array.from(mask!);
  let end = 0;
  for (const length of lengths) {
    end += length;
    cut[end - 1] = 0;
  }
  return cut;
}

describe('advantages and weights', () => {
  it.each<[string, LabRun, string, HandOver?]>([
    ['with an ε of 1e-8', comparing({ epsilon: 1e-8 }), 'advantage'],
    ['with another ddof', comparing({ ddof: 0 }), 'advantage'],
    ['with another scale', comparing({ scale: 'batch' }), 'advantage'],
    ['without a baseline', comparing({ baseline: 'none' }), 'advantage'],
    [
      'over groups that begin one late',
      advantages((values) => values.map((_, b) => values.at(b - 1)!)),
      'advantage',
    ],
    [
      'of groups of half the size',
      { stages: { advantage: (rewards, size, settings) => standard.advantage(rewards, size / 2, settings) } },
      'advantage',
    ],
    ['of the step before', { steps: 2, stages: { advantage: late() } }, 'advantage'],
    ['with the sign turned', advantages((values) => values.map((value) => -value)), 'advantage'],
    [
      'in which dropped groups stay',
      { settings: ['advantage.flat=drop', 'advantage.flatBelow=0.3'], ...comparing({ flat: 'zero' }) },
      'list of groups that are dropped',
    ],
    ['without the end of each completion', losing((input) => ({ mask: withoutEnds(input) })), WEIGHT, 'loss'],
    [
      'with masks in another order',
      losing(
        (input) => ({ mask: input.mask!.slice().reverse() }),
        ['objective.maskTruncated=true', 'rollout.maxNewTokens=5'],
      ),
      WEIGHT,
      'loss',
    ],
    [
      'normalised by each micro-batch',
      losing(
        ({ lengths }) => ({
          update: { completions: lengths.length, tokens: lengths.reduce((a, b) => a + b, 0) },
        }),
        ['train.microBatchTokens=50'],
      ),
      WEIGHT,
      'loss',
    ],
    [
      'with another aggregation',
      losing(({ settings }) => ({ settings: { ...settings, aggregation: 'sum' } })),
      WEIGHT,
      'loss',
    ],
  ])('%s are found', async (_, run, quantity, handOver = 'advantage') => {
    expect(await disagreements(handOver, run)).toContain(quantity);
  });

  it('a KL that is taken from the rewards is found where it is not declared', async () => {
    class Penalising extends Control {
      override weigh(batch: Batch, step: number): void {
        super.weigh(batch, step);
        batch.klPenalties_B = Float64Array.from(batch.completions_B, (_, b) => 0.1 * b);
      }
    }
    const run: LabRun = {
      settings: ['kl.beta=0.05'],
      plant: ({ config }) => ({ control: new Penalising(config) }),
    };
    expect(await disagreements('advantage', run)).toEqual(['advantage', 'KL that is taken from the reward']);
  });

  it.each([0, -1.5])('log-probs that are all %d disagree with the entropies', async (value) => {
    const run: LabRun = {
      stages: {
        logprob: (...args) => {
          const scores = standard.logprob(...args);
          const { logprobs_T } = scores;
          return { ...scores, logprobs_T: logprobs_T.mul(0).add(value) };
        },
      },
    };
    expect(await disagreements('old log-probs', run)).toContain("entropy beside the token's log-prob");
  });

  it.each<[string, string[]]>([
    ['each scale', ['advantage.scale=batch', 'advantage.whiten=true', 'advantage.clip=1']],
    ['leave-one-out', ['advantage.baseline=leave_one_out', 'advantage.scale=none']],
    [
      'dropped groups',
      [
        'advantage.flat=drop',
        'advantage.flatBelow=0.3',
        'objective.minibatches=2',
        'objective.oldLogprobs=recompute',
      ],
    ],
    ['raw flat groups', ['advantage.flat=raw', 'advantage.flatBelow=0.3']],
    ['rewards compared one by one', ['advantage.combine=normalize_then_sum']],
    ['TRL’s numbers', ['objective.compat=trl']],
    [
      'a KL in the reward',
      ['kl.beta=0.1', 'kl.place=reward', 'kl.level=sequence_sum', 'objective.oldLogprobs=recompute'],
    ],
    ['a β that warms up', ['kl.beta=0.1', 'kl.warmupSteps=2', 'kl.warmup=linear']],
    ['masks of what was cut', ['objective.maskTruncated=true', 'rollout.maxNewTokens=5']],
    [
      'refills and replay',
      ['groups.refills=1', 'groups.replay=8', 'advantage.flatBelow=0.3', 'objective.oldLogprobs=sampler'],
    ],
    [
      'several updates',
      ['objective.minibatches=2', 'objective.iterations=2', 'objective.oldLogprobs=sampler'],
    ],
    ['kinds whose gradients are compared', ['kl.kindKey=kind', 'train.kindGradients=1', 'kl.beta=0.05']],
  ])('with %s agree', async (_, settings) => {
    const run = { steps: 3, settings };
    const handOvers = ['advantage', 'reward', 'kl', 'loss', 'gradient', 'run'] as const;
    expect(await disagreements(handOvers, run)).toEqual([]);
  });
});
