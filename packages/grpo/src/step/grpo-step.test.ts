import { noGrad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { composedLoss, type LossInput } from '../objective/index.js';
import { recordStep } from '../observe/record-step.js';
import { grpoStep } from './grpo-step.js';
import { type Stages, stages as standard } from './stages.js';
import {
  fixtureModel,
  PROBLEMS,
  rewarding,
  spreadRewards,
  trainerOf,
  weightsOf,
} from './step.test.helper.js';

const GAP_MAX = 'sampling/sampling_logp_difference/max';
const GAP_MEAN = 'sampling/sampling_logp_difference/mean';

interface Seen {
  policy: number[];
  old: number[] | undefined;
  update: LossInput['update'];
  lengths: readonly number[];
}

/** The standard objective, with its input at each call. */
function watched(): { seen: Seen[]; objective: Stages['objective'] } {
  const seen: Seen[] = [];
  const objective: Stages['objective'] = (input) => {
    seen.push({
      policy: input.logprobs_T.detach().toNumbers(),
      old: input.oldLogprobs_T?.toNumbers(),
      update: input.update,
      lengths: input.lengths,
    });
    return composedLoss(input);
  };
  return { seen, objective };
}

const furthest = (a: readonly number[], b: readonly number[]) =>
  a.reduce((max, x, i) => Math.max(max, Math.abs(x - b[i]!)), 0);

describe('the completions of a step', () => {
  it('are drawn by seed, step, prompt and place in the group', async () => {
    const twice = [PROBLEMS[0]!, PROBLEMS[0]!];
    const textsOf = async (step: number, seed: number) => {
      const trainer = trainerOf(fixtureModel('llama3'), [`seed=${seed}`], { score: spreadRewards });
      const { batch } = await recordStep(trainer, twice, step, 0);
      return batch.completions_B.map(({ ids }) => ids.join());
    };
    const first = await textsOf(0, 0);
    expect(await textsOf(0, 0)).toEqual(first);
    expect(new Set([...first, ...(await textsOf(1, 0)), ...(await textsOf(0, 1))]).size).toBe(3 * 8);
  });
});

describe('old log-probs', () => {
  it('that are the detached ones make the ratio exactly 1', async () => {
    const { seen, objective } = watched();
    const advantages = Float64Array.from({ length: 16 }, (_, b) => b / 8 - 0.25);
    const trainer = trainerOf(fixtureModel('llama3'), ['objective.loss=grpo'], {
      objective,
      score: spreadRewards,
      advantage: (...args) => ({ ...standard.advantage(...args), advantages }),
    });
    const { loss, metrics } = await recordStep(trainer, PROBLEMS, 0, 0.01);
    expect(seen.map(({ old }) => old)).toEqual([undefined]);
    // With every ratio 1 each completion counts its advantage.
    expect(loss).toBeCloseTo(-advantages.reduce((a, b) => a + b, 0) / 16, 6);
    expect([metrics['clip_ratio/low_mean'], metrics['clip_ratio/high_mean'], metrics.kl]).toEqual([
      0,
      0,
      undefined,
    ]);
  });

  it.each(['llama3', 'qwen3', 'gpt2'])('of %s recomputed are those of the sampler', async (name) => {
    const both = await Promise.all(
      ['recompute', 'sampler'].map(async (kind) => {
        const { seen, objective } = watched();
        const settings = [`objective.oldLogprobs=${kind}`, 'rollout.temperature=0.7'];
        const stages = { objective, score: spreadRewards };
        const result = await recordStep(trainerOf(fixtureModel(name), settings, stages), PROBLEMS, 3, 0.01);
        return { old: seen.flatMap((s) => s.old!), ids: result.batch.completions_B.map((c) => c.ids) };
      }),
    );
    const [recomputed, sampled] = both as [(typeof both)[0], (typeof both)[0]];
    expect(recomputed.ids).toEqual(sampled.ids);
    expect(new Set(recomputed.ids.map(String)).size).toBe(16);
    expect(furthest(recomputed.old, sampled.old)).toBeLessThan(1e-4);
    expect(furthest(recomputed.old, sampled.old)).toBeGreaterThan(0);
  });

  it.each(['recompute', 'sampler'])('%s stay while the policy moves', async (kind) => {
    const { seen, objective } = watched();
    const settings = [`objective.oldLogprobs=${kind}`, 'objective.iterations=2'];
    const trainer = trainerOf(fixtureModel('llama3'), settings, { objective, score: spreadRewards });
    const { metrics } = await recordStep(trainer, PROBLEMS, 0, 0.01);
    const [first, second] = seen as [Seen, Seen];
    expect(seen).toHaveLength(2);
    expect(second.old).toEqual(first.old);
    expect(furthest(first.policy, first.old!)).toBeLessThan(1e-4);
    expect(furthest(second.policy, second.old!)).toBeGreaterThan(0.05);
    // Only the first pass compares the trainer with the sampler.
    expect(metrics[GAP_MAX]).toBeLessThan(1e-4);
  });
});

describe('the updates of a step', () => {
  it('take the groups in turn, once an iteration', async () => {
    const { seen, objective } = watched();
    const groups: string[] = [];
    let updates = 0;
    const settings = [
      'objective.oldLogprobs=sampler',
      'objective.iterations=3',
      'objective.minibatches=2',
      'rollout.prompts=4',
      'train.microBatchTokens=100000',
    ];
    const trainer = trainerOf(fixtureModel('llama3'), settings, {
      objective,
      score: spreadRewards,
      logprob: (decoder, scored, temperature) => {
        groups.push(scored.map(({ prompt }) => trainer.model.tokenizer.decode(prompt)).join('|'));
        return standard.logprob(decoder, scored, temperature);
      },
      update: (...args) => {
        updates++;
        return standard.update(...args);
      },
    });
    const { batch } = await recordStep(trainer, PROBLEMS, 0, 1e-3);
    expect(updates).toBe(6);
    const texts = PROBLEMS.map(({ prompt }) => prompt as string);
    const halves = [texts.slice(0, 2).join('|'), texts.slice(2).join('|')];
    expect(groups).toEqual([...halves, ...halves, ...halves]);
    // A loss is weighed by the size of its own update.
    const lengths = batch.completions_B.map(({ ids }) => ids.length);
    const tokens = (from: number) => lengths.slice(from, from + 8).reduce((a, b) => a + b, 0);
    expect(seen.map((s) => s.update)).toEqual(
      [0, 8, 0, 8, 0, 8].map((from) => ({ completions: 8, tokens: tokens(from) })),
    );
  });

  it('learn nothing from rewards that are all equal', async () => {
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const { gradNorm, batch } = await recordStep(
      trainerOf(model, [], { score: rewarding(() => 0.3) }),
      PROBLEMS,
      0,
      0.01,
    );
    expect([gradNorm, batch.advantages.zeroVariance]).toEqual([0, 1]);
    expect(weightsOf(model.decoder)).toEqual(before);
  });

  it('learn nothing when no completion could be scored', async () => {
    const model = fixtureModel('llama3');
    const before = weightsOf(model.decoder);
    const { gradNorm, loss, batch } = await recordStep(
      trainerOf(model, ['advantage.scale=batch', 'onRewardError=drop'], {
        score: rewarding(() => Number.NaN),
      }),
      PROBLEMS,
      0,
      0.01,
    );
    expect([gradNorm, Math.abs(loss)]).toEqual([0, 0]);
    expect([...batch.advantages.advantages]).toEqual(Array(16).fill(0));
    expect(weightsOf(model.decoder)).toEqual(before);
  });

  it('leave out a completion without a reward, which still counts in the weights', async () => {
    const { seen, objective } = watched();
    const score = rewarding((b) => (b === 5 ? Number.NaN : b % 2));
    const { batch } = await recordStep(
      trainerOf(fixtureModel('llama3'), [], { score, objective }),
      PROBLEMS,
      0,
      0,
    );
    expect(batch.advantages.advantages[5]).toBe(0);
    expect(batch.advantages.advantages[4]).toBeLessThan(0);
    expect(seen[0]!.update.completions).toBe(16);
  });

  it('stand in stages, each of which can be replaced', async () => {
    const calls = new Set<string>();
    const wrapped = Object.fromEntries(
      Object.entries(standard).map(([name, stage]: [string, (...args: never[]) => unknown]) => [
        name,
        (...args: never[]) => {
          calls.add(name);
          return stage(...args);
        },
      ]),
    ) as unknown as Stages;
    await recordStep(trainerOf(fixtureModel('llama3'), [], wrapped), PROBLEMS, 0, 0.01);
    expect([...calls]).toEqual([
      'render',
      'sample',
      'score',
      'assemble',
      'advantage',
      'logprob',
      'objective',
      'update',
    ]);
  });
});

describe('the reference', () => {
  it('stays as it is, at a KL of 0 at first and more later', async () => {
    const model = fixtureModel('qwen3');
    const reference = model.decoder.clone();
    onTestFinished(() => reference.dispose());
    const before = weightsOf(reference);
    const trainer = trainerOf(model, ['kl.beta=0.1'], { score: spreadRewards }, reference);
    const kls: number[] = [];
    for (const step of [0, 1, 2]) kls.push((await recordStep(trainer, PROBLEMS, step, 0.01)).metrics.kl!);
    expect(Math.abs(kls[0]!)).toBeLessThan(1e-6);
    expect(kls[1]).toBeGreaterThan(1e-3);
    expect(kls[2]).toBeGreaterThan(kls[1]!);
    expect(weightsOf(reference)).toEqual(before);
    expect(weightsOf(model.decoder)).not.toEqual(before);
    for (const parameter of reference.parameters.values()) {
      expect([parameter.requiresGrad, parameter.grad]).toEqual([false, null]);
    }
  });
});

describe('the gap between sampler and trainer', () => {
  it.each(['llama3', 'qwen2', 'qwen3', 'gpt2'])('of %s is rounding', async (name) => {
    const trainer = trainerOf(fixtureModel(name), ['rollout.temperature=0.9'], { score: spreadRewards });
    const { metrics } = await recordStep(trainer, PROBLEMS, 0, 0.01);
    expect(metrics[GAP_MAX]).toBeLessThan(1e-4);
    expect(metrics[GAP_MEAN]).toBeLessThanOrEqual(metrics[GAP_MAX]!);
    expect(metrics[GAP_MEAN]).toBeGreaterThan(0);
    expect(metrics.entropy).toBeGreaterThan(0.5);
  });

  it('shows when the sampler had other weights', async () => {
    const model = fixtureModel('llama3');
    const stages: Partial<Stages> = {
      score: spreadRewards,
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        noGrad(() => tidy(() => void (model.decoder.parameters.values().next().value as Tensor).mul_(1.1)));
        return groups;
      },
    };
    const { metrics } = await recordStep(trainerOf(model, [], stages), PROBLEMS, 0, 0.01);
    expect(metrics[GAP_MAX]).toBeGreaterThan(0.01);
  });
});

describe('a bfloat16 model', () => {
  it('trains for three steps, with a reference and two passes', async () => {
    const model = fixtureModel('qwen3', 'bfloat16');
    const reference = model.decoder.clone();
    onTestFinished(() => reference.dispose());
    const settings = ['kl.beta=0.05', 'objective.iterations=2', 'objective.oldLogprobs=recompute'];
    const trainer = trainerOf(model, settings, { score: spreadRewards }, reference);
    const seen = [weightsOf(model.decoder)];
    for (const step of [0, 1, 2]) {
      const { loss, gradNorm, metrics } = await recordStep(trainer, PROBLEMS, step, 1e-3);
      expect([loss, gradNorm, ...Object.values(metrics)]).toSatisfy((all: number[]) =>
        all.every(Number.isFinite),
      );
      expect(gradNorm).toBeGreaterThan(0);
      seen.push(weightsOf(model.decoder));
    }
    expect(new Set(seen.map(String)).size).toBe(4);
    expect(model.decoder.dtype).toBe('bfloat16');
    expect(weightsOf(reference)).toEqual(seen[0]);
  });
});

describe('a step that cannot be taken', () => {
  it.each([Number.NaN, -1e-3, Number.POSITIVE_INFINITY, undefined])(
    'with the learning rate %s is refused',
    async (rate) => {
      const trainer = trainerOf(fixtureModel('llama3'), []);
      await expect(grpoStep(trainer, PROBLEMS, 0, rate as number)).rejects.toThrow(
        `the learning rate is a number >= 0, found ${rate}`,
      );
    },
  );

  it('without problems is refused', async () => {
    const trainer = trainerOf(fixtureModel('llama3'), []);
    await expect(grpoStep(trainer, [], 0, 1e-3)).rejects.toThrow('one problem at least');
  });
});
