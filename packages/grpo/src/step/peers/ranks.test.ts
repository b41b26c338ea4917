import { describe, expect, it, onTestFinished } from 'vitest';
import type { Model } from '../../models/index.js';
import { initLora } from '../../models/lora/init-lora.js';
import { composedLoss } from '../../objective/index.js';
import { Abandoned, Watch } from '../../progress/watch.js';
import { RewardError } from '../../rewards/index.js';
import { RanksDifferError } from '../grpo-step.js';
import { MovingReference } from '../moving-reference.js';
import { ReplayStore } from '../replay-store.js';
import { type Stages, stages as standardStages } from '../stages.js';
import { fixtureModel, neighbour } from '../step.test.helper.js';
import type { Peers } from './peers.js';
import { distance, PROMPTS, placeOf, type RankedSteps, scoreByIds, takeSteps } from './ranks.test.helper.js';

/** How far several processes are from one. */
async function compared(size: number, given: RankedSteps) {
  const [[alone], ranks] = [await takeSteps(1, given), await takeSteps(size, given)];
  const far = (key: 'gradient' | 'weights') =>
    Math.max(...ranks.map((own) => distance(own[key], alone![key])));
  const losses = ranks.flatMap((own) =>
    own.losses.map((loss, step) => Math.abs(loss - alone!.losses[step]!)),
  );
  return {
    alone: alone!,
    ranks,
    gradient: far('gradient'),
    weights: far('weights'),
    loss: Math.max(...losses),
  };
}

/** All processes have the completions and advantages of one, and nearly its gradient and weights. */
async function expectSame(size: number, given: RankedSteps) {
  const { alone, ranks, gradient, weights, loss } = await compared(size, given);
  for (const own of ranks) {
    expect(own.ids).toEqual(alone.ids);
    expect(own.advantages).toEqual(ranks[0]!.advantages);
    expect(own.weights).toEqual(ranks[0]!.weights);
    expect(own.losses).toEqual(ranks[0]!.losses);
  }
  // They hold log-probs where the KL is taken from the rewards.
  for (const [step, own] of alone.advantages.entries())
    for (const [b, advantage] of own.entries())
      expect(ranks[0]!.advantages[step]![b]).toBeCloseTo(advantage, 6);
  expect(gradient).toBeLessThan(1e-6);
  expect(weights).toBeLessThan(1e-6);
  expect(loss).toBeLessThan(1e-6);
  expect(Math.max(...alone.gradNorms)).toBeGreaterThan(0.01);
  return alone;
}

/** A reference a little away from the policy. */
const reference = () => neighbour(fixtureModel('llama3').decoder);

/** A model of which only adapters are trained. */
function adapted(): Model {
  const model = fixtureModel('llama3');
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = false;
  const settings = { rank: 2, alpha: 4, base: 'base' };
  const lora = initLora(model.decoder.config, settings, { seed: 1, device: 'cpu' });
  for (const parameter of lora.parameters.values()) parameter.requiresGrad = true;
  onTestFinished(() => lora.dispose());
  return { ...model, decoder: model.decoder.withLora(lora) };
}

/** The groups of these prompts have no difference. */
const flatFor =
  (isFlat: (place: number) => boolean): Stages['score'] =>
  async (task, problems, groups, onError) => {
    const table = await scoreByIds(task, problems, groups, onError);
    const size = groups[0]!.length;
    const columns = table.columns.map((column) =>
      column.map((value, b) => (isFlat(placeOf(problems[Math.floor(b / size)]!)) ? 0.5 : value)),
    );
    return { ...table, columns };
  };

describe('several processes take the step of one', () => {
  it.each([2, 4])('of five prompts, as %i', async (size) => {
    await expectSame(size, {});
  });

  it('in twenty steps of plain gradient descent', async () => {
    await expectSame(2, { steps: 20, learningRate: 1e-2 });
  });

  it.each<{ name: string; given: RankedSteps }>([
    { name: 'more processes than prompts', given: { problems: PROMPTS.slice(0, 2) } },
    { name: 'batch-normalised advantages', given: { settings: ['advantage.scale=batch'] } },
    { name: 'whitened advantages', given: { settings: ['advantage.whiten=true'] } },
    { name: 'loss grpo', given: { settings: ['objective.loss=grpo'] } },
    { name: 'loss dapo', given: { settings: ['objective.loss=dapo'] } },
    { name: 'loss dr_grpo', given: { settings: ['objective.loss=dr_grpo'] } },
    // Defined by the split into micro-batches, which is that of single completions here.
    { name: 'loss bnpo', given: { settings: ['objective.loss=bnpo', 'train.microBatchTokens=1'] } },
    { name: 'micro-batches of a group or less', given: { settings: ['train.microBatchTokens=20'] } },
    {
      name: 'several updates of old log-probs',
      given: {
        problems: PROMPTS.slice(0, 4),
        settings: ['objective.oldLogprobs=recompute', 'objective.iterations=2', 'objective.minibatches=2'],
      },
    },
    {
      name: 'the ids that sampling kept',
      given: {
        reference,
        settings: ['rollout.topP=0.8', 'kl.beta=0.1', 'objective.oldLogprobs=recompute'],
      },
    },
    {
      name: 'the ids that sampling kept, of replayed groups',
      given: {
        steps: 3,
        settings: ['rollout.topK=30', 'groups.replay=4', 'objective.oldLogprobs=sampler'],
        stages: () => ({ score: flatFor((place) => place % 2 === 0) }),
        trainer: () => ({ replay: new ReplayStore(4) }),
      },
    },
    { name: 'a reference', given: { reference, settings: ['kl.beta=0.1'] } },
    {
      name: 'a β that follows the KL, taken from the rewards',
      given: {
        reference,
        steps: 3,
        settings: ['kl.beta=0.1', 'kl.control=adaptive', 'kl.target=0.1', 'kl.place=reward'],
      },
    },
    {
      name: 'an entropy bonus that follows the entropy',
      given: { steps: 3, settings: ['entropy.adaptive=true', 'entropy.target=1'] },
    },
    {
      name: 'groups that are dropped',
      given: {
        settings: ['advantage.flat=drop'],
        stages: () => ({ score: flatFor((place) => place < 2) }),
      },
    },
    {
      name: 'refilled groups',
      given: {
        settings: ['groups.refills=2'],
        stages: () => ({ score: flatFor((place) => place < 3) }),
        trainer: () => ({ supply: supplyOf() }),
      },
    },
    {
      name: 'replayed groups',
      given: {
        steps: 3,
        settings: ['groups.replay=4', 'objective.oldLogprobs=recompute'],
        stages: () => ({ score: flatFor((place) => place % 2 === 0) }),
        trainer: () => ({ replay: new ReplayStore(4) }),
      },
    },
    {
      name: 'completions that count as too long',
      given: { settings: ['groups.overlongBuffer=4', 'objective.maskTruncated=true'] },
    },
    {
      name: 'a reference that moves',
      given: {
        steps: 3,
        reference,
        settings: ['kl.beta=0.1', 'kl.referenceEvery=2'],
        trainer: (own) => ({ movingReference: new MovingReference(own.reference!, own) }),
      },
    },
    { name: 'adapters', given: { model: adapted } },
    { name: 'recomputed activations', given: { settings: ['train.recompute=layers'] } },
    { name: 'the correction of the sampler', given: { settings: ['correction.level=token'] } },
  ])('with $name', async ({ given }) => {
    await expectSame(3, given);
  });

  it('with AdamW, within 1e-4 of its loss', async () => {
    const given = { steps: 10, stages: () => ({ update: standardStages.update }) };
    const { ranks, loss } = await compared(2, given);
    expect(loss).toBeLessThan(1e-4);
    expect(ranks[1]!.weights).toEqual(ranks[0]!.weights);
  });
});

/** Further prompts, the same in each process. */
function supplyOf() {
  let next = 0;
  return {
    take: (count: number) =>
      Array.from({ length: count }, () => {
        next++;
        return { prompt: `more ${next}`, row: { i: PROMPTS.length + next } };
      }),
  };
}

describe('the comparison with one process finds', () => {
  /** The mean of the gradients in place of their sum. */
  const mean = (peers: Peers): Peers => ({
    ...peers,
    sum: async (tensors) => {
      await peers.sum(tensors);
      for (const own of tensors) own.mul_(1 / peers.size);
    },
  });

  it('gradients that are not summed, by the weights and by the gradient', async () => {
    const sum = async () => {};
    const differs = takeSteps(2, { peers: (peers) => ({ ...peers, sum }) });
    await expect(differs).rejects.toThrow(RanksDifferError);
    await expect(differs).rejects.toThrow('step 1: after update 1 rank 1 has other weights than rank 0');
    // Without the checksums of the weights, which are the shortest of all that is exchanged.
    const peers = (given: Peers): Peers => ({
      ...given,
      sum,
      gather: async (bytes) =>
        (await given.gather(bytes)).map((own, _, all) => (own.length < 40 ? all[0]! : own)),
    });
    expect((await compared(2, { peers })).gradient).toBeGreaterThan(0.1);
  });

  it('a divisor of each process', async () => {
    const ownDivisor: Stages['objective'] = (input) => {
      const tokens = input.mask!.reduce((sum, one) => sum + one, 0);
      return composedLoss({ ...input, update: { completions: input.lengths.length, tokens } });
    };
    const stages = (peers: Peers | undefined) => (peers ? { objective: ownDivisor } : {});
    const settings = ['objective.loss=dapo'];
    expect((await compared(2, { settings, peers: mean, stages })).gradient).toBeGreaterThan(0.01);
  });

  it('rewards that are normalised in each process', async () => {
    const normalised: Stages['advantage'] = (rewards, groupSize, settings) => {
      const whole = standardStages.advantage(rewards, groupSize, settings);
      const end = rewards.totals.length;
      const parts = [[0, 2 * groupSize] as const, [2 * groupSize, end] as const].map(([from, to]) => {
        const columns = rewards.columns.map((column) => column.slice(from, to));
        const own = { ...rewards, totals: rewards.totals.slice(from, to), columns };
        return [...standardStages.advantage(own, groupSize, settings).advantages];
      });
      return { ...whole, advantages: Float64Array.from(parts.flat()) };
    };
    const stages = (peers: Peers | undefined) => (peers ? { advantage: normalised } : {});
    const { alone, ranks } = await compared(2, { settings: ['advantage.scale=batch'], stages });
    expect(ranks[0]!.advantages).not.toEqual(alone.advantages);
  });

  it('prompts that each process has for itself', async () => {
    const sample: Stages['sample'] = (model, requests, ...rest) =>
      standardStages.sample(
        model,
        requests.map((own, i) => ({ ...own, keys: [0, i] })),
        ...rest,
      );
    const { alone, ranks } = await compared(2, { stages: (peers) => (peers ? { sample } : {}) });
    expect(ranks[0]!.ids).not.toEqual(alone.ids);
  });
});

describe('an error of one process ends the step of all', () => {
  const failing = (onRewardError: string, failsAt: number): RankedSteps => ({
    settings: [`onRewardError=${onRewardError}`],
    stages: () => ({
      score: async (task, problems, groups, onError) => {
        const table = await scoreByIds(task, problems, groups, onError);
        const at = problems.findIndex((problem) => placeOf(problem) === failsAt);
        if (at < 0) return table;
        const index = at * groups[0]!.length;
        const failures = [
          { reward: 'by ids', index, affected: 1, prompt: '"b"', completion: '"c"', reason: 'threw' },
        ];
        if (onError === 'stop') throw new RewardError(failures);
        table.columns[0]![index] = Number.NaN;
        table.unscored[index] = 1;
        return { ...table, failures };
      },
    }),
  });

  it('with the name and the reason of a reward', async () => {
    const messages: string[] = [];
    const given = failing('stop', 4);
    const trainer: RankedSteps['trainer'] = ({ peers }) => ({
      observers: [{ compared: () => void messages.push(`${peers!.rank} went on`) }],
    });
    await expect(takeSteps(2, { ...given, trainer })).rejects.toThrow(
      /^rank 1: reward by ids, completion \d+: threw/,
    );
    expect(messages).toEqual([]);
  });

  it('unless the completion is dropped, at the same place as in one process', async () => {
    const { advantages } = await expectSame(2, failing('drop', 4));
    expect(advantages[0]![16]).toBe(0);
  });

  it('as abandoned, where one of them was interrupted', async () => {
    const trainer: RankedSteps['trainer'] = ({ peers }) => ({
      watch: peers?.rank === 1 ? new Watch({}, AbortSignal.abort()) : new Watch(),
    });
    await expect(takeSteps(2, { trainer })).rejects.toThrow(Abandoned);
  });
});
