import { noGrad } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { composedLoss, type LossInput } from '../objective/index.js';
import { metricsOf } from '../observe/metrics.js';
import { recordStep } from '../observe/record-step.js';
import { stepRecordOf } from '../observe/step-record.js';
import type { RecordedStep } from '../observe/step-recorder.js';
import { stages as standard } from './stages.js';
import { fixtureModel, PROBLEMS, rewarding, spreadRewards, trainerOf } from './step.test.helper.js';
import type { Trainer } from './trainer.js';

/** Steps with the same problems, at a rate that moves the policy. */
async function steps(trainer: Trainer, count: number, problems = PROBLEMS): Promise<RecordedStep[]> {
  const results: RecordedStep[] = [];
  for (let step = 0; step < count; step++) results.push(await recordStep(trainer, problems, step, 1e-3));
  return results;
}

/** A policy, and another one as its reference. */
function withReference(settings: readonly string[], stages: Partial<Trainer['stages']> = {}): Trainer {
  const reference = fixtureModel('llama3').decoder;
  noGrad(() => {
    for (const weights of reference.parameters.values()) weights.mul_(0.9);
  });
  return trainerOf(fixtureModel('llama3'), settings, { score: spreadRewards, ...stages }, reference);
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);

const partOf = ({ updates }: RecordedStep, name: string, update = 0) =>
  updates[update]!.components!.find((part) => part.name === name)?.coefficient;

const betasOf = (results: readonly RecordedStep[]) => results.map(({ metrics }) => metrics.beta!);

describe('β of a step', () => {
  it('follows the KL of the steps before it', async () => {
    const [first] = await steps(withReference(['kl.beta=0.001']), 1);
    const { kl } = first!.metrics;
    // β × KL is far below the target, the KL itself is twice the target.
    const settings = ['kl.beta=0.001', 'kl.control=adaptive', `kl.target=${kl! / 2}`, 'kl.up=1.5'];
    const raised = await steps(withReference(settings), 3);
    expect(betasOf(raised)).toEqual([0.001, 0.0015, 0.00225].map((beta) => expect.closeTo(beta, 12)));
    expect(raised.map((result) => partOf(result, 'kl'))).toEqual(betasOf(raised));
    expect(raised.map(({ updates }) => updates[0]!.beta)).toEqual(betasOf(raised));
  });

  it('of a Lagrangian moves by the distance of the measured KL from its target', async () => {
    const settings = ['kl.beta=0.05', 'kl.control=lagrangian', 'kl.target=0.02'];
    const results = await steps(withReference(settings), 3);
    const [a, b] = results.map(({ metrics }) => metrics.kl!) as [number, number];
    const second = 0.05 + 0.1 * (a - 0.02);
    expect(betasOf(results)).toEqual(
      [0.05, second, second + 0.1 * (b - 0.02)].map((beta) => expect.closeTo(beta, 12)),
    );
    expect(Math.abs(a - 0.02)).toBeGreaterThan(1e-3);
  });

  it('rises over the warm-up, and follows nothing so long', async () => {
    const settings = ['kl.beta=0.1', 'kl.warmupSteps=2', 'kl.control=adaptive', 'kl.target=1e-6'];
    const results = await steps(withReference(settings), 4);
    expect(betasOf(results)).toEqual([0, 0.05, 0.1, 0.11].map((beta) => expect.closeTo(beta, 12)));
    expect(results.map((result) => partOf(result, 'kl') ?? 0)).toEqual(betasOf(results));
    // It is measured even where it has no weight.
    expect(results[0]!.metrics.kl).toBeGreaterThan(0);
  });

  it('is one of each kind of problems, by the KL of that kind', async () => {
    const seen: LossInput[] = [];
    const settings = [
      'kl.beta=0.05',
      'kl.control=lagrangian',
      'kl.target=0.02',
      'kl.kindKey=kind',
      'train.microBatchTokens=30',
    ];
    const trainer = withReference(settings, {
      objective: (input) => {
        seen.push(input);
        return composedLoss(input);
      },
    });
    const kinds = ['f', 'h', 'f', 'f'] as const;
    const problems = PROBLEMS.map((problem, p) => ({ ...problem, row: { kind: kinds[p] } }));
    const first = await recordStep(trainer, problems, 0, 1e-3);
    const before = seen.length;
    const second = await recordStep(trainer, problems, 1, 1e-3);

    // From the record: the KL terms of each token, and the kind of its completion.
    const { completions, klTerms } = first.updates[0]!;
    const sums = { f: { sum: 0, of: 0 }, h: { sum: 0, of: 0 } };
    let t = 0;
    for (const b of completions!) {
      const own = sums[kinds[Math.floor(b / 4)]!];
      for (const _ of first.batch.completions_B[b]!.ids) {
        own.sum += klTerms![t++]!;
        own.of++;
      }
    }
    const betas = { f: 0, h: 0 };
    for (const kind of ['f', 'h'] as const) {
      const { sum, of } = sums[kind];
      expect(first.metrics[`kl/${kind}`]).toBeCloseTo(sum / of, 6);
      expect(first.metrics[`beta/${kind}`]).toBe(0.05);
      betas[kind] = 0.05 + 0.1 * (first.metrics[`kl/${kind}`]! - 0.02);
      expect(second.metrics[`beta/${kind}`]).toBeCloseTo(betas[kind], 12);
    }
    expect(betas.f).not.toBeCloseTo(betas.h, 4);
    expect(first.metrics.beta).toBeUndefined();
    // The loss got a weight for each completion.
    const used = seen
      .slice(before)
      .flatMap((input) => input.kinds!.map((kind, i) => `${kind},${input.betas[i]}`));
    expect(new Set(used)).toEqual(
      new Set([`f,${second.metrics['beta/f']}`, `h,${second.metrics['beta/h']}`]),
    );
    // The terms of the record add up to the loss, split as it was.
    const { policyTerms, weights, klWeights, loss, ...update } = second.updates[0]!;
    const total = policyTerms!.reduce(
      (sum, term, i) => sum + term * weights![i]! + update.klTerms![i]! * klWeights![i]!,
      0,
    );
    expect(seen.length).toBeGreaterThan(4);
    expect(total).toBeCloseTo(loss!, 5);
  });

  it('does not follow a loss that tells no KL', async () => {
    const trainer = withReference(['kl.beta=0.05', 'kl.control=lagrangian', 'kl.target=0.02'], {
      objective: (input) => ({ loss: standard.objective(input).loss }),
    });
    await expect(steps(trainer, 1)).rejects.toThrow(
      'kl.control=lagrangian follows the KL, and the loss tells none',
    );
  });
});

describe('a KL in the reward', () => {
  /** The KL of each completion, by the recorded log-probs: of the sampler, and of the reference. */
  const kls = ({ batch }: RecordedStep, of: (d: number[]) => number) =>
    batch.completions_B.map(({ logprobs }, b) =>
      of([...logprobs].map((logprob, t) => batch.reference_B![b]![t]! - logprob)),
    );
  const k3 = (d: number) => Math.exp(d) - d - 1;

  it.each([
    [['kl.estimator=k1'], (d: number[]) => -sum(d)],
    [['kl.estimator=k1', 'kl.level=sequence_sum'], (d: number[]) => -sum(d)],
    [['kl.estimator=k1', 'kl.level=sequence_mean'], (d: number[]) => -sum(d) / d.length],
    [['kl.estimator=k3'], (d: number[]) => sum(d.map(k3))],
    [['kl.estimator=k3', 'kl.level=sequence_mean'], (d: number[]) => k3(sum(d) / d.length)],
  ] as const)('is compared within the group: %s', async (settings, of) => {
    // All rewards are equal: only the KL differs.
    const trainer = withReference(['kl.place=reward', 'kl.beta=0.3', 'advantage.scale=none', ...settings], {
      score: rewarding(() => 0.25),
    });
    const [result] = await steps(trainer, 1);
    const { batch } = result!;
    const penalties = kls(result!, of).map((kl) => 0.3 * kl);
    const means = [0, 4, 8, 12].map((from) => sum(penalties.slice(from, from + 4)) / 4);
    const expected = penalties.map((penalty, b) => means[Math.floor(b / 4)]! - penalty);
    expect([...batch.advantages.advantages]).toEqual(expected.map((a) => expect.closeTo(a, 5)));
    expect(Math.max(...expected)).toBeGreaterThan(0.01);
    // The rewards stay the task's, and the loss has no KL.
    expect([...batch.rewards_B]).toEqual(Array(16).fill(0.25));
    expect(partOf(result!, 'kl')).toBeUndefined();
    const row = metricsOf(result!, 1, { tokens: 0, stepTokens: 0 });
    expect(row.reward).toBe(0.25);
    expect(row.kl_penalty).toBeCloseTo(sum(penalties) / 16, 5);
    // The record has the rewards that were compared.
    const { rewards, advantages } = stepRecordOf(trainer, result!, 1);
    expect([...rewards!.totals!]).toEqual(penalties.map((penalty) => expect.closeTo(0.25 - penalty, 5)));
    expect(rewards).toMatchObject({ names: ['fixed', 'kl_penalty'], weights: [1, -1] });
    expect(advantages).toEqual(batch.advantages.advantages);
  });

  it('is that of the old log-probs where these are recomputed, and warms up', async () => {
    const settings = [
      'kl.place=reward',
      'kl.beta=0.3',
      'kl.warmupSteps=2',
      'objective.oldLogprobs=recompute',
    ];
    const results = await steps(withReference(settings), 2);
    const [none, half] = results.map(({ batch }) => batch.klPenalties_B!);
    expect([...none!]).toEqual(Array(16).fill(0));
    const { batch } = results[1]!;
    const recomputed = batch.old_B!.map((own, b) =>
      sum([...own].map((logprob, t) => k3(batch.reference_B![b]![t]! - logprob))),
    );
    expect([...half!]).toEqual(recomputed.map((kl) => expect.closeTo(0.15 * kl, 5)));
  });
});

describe('the adaptive entropy bonus of a step', () => {
  const settings = ['entropy.adaptive=true', 'entropy.coefficient=0.1', 'entropy.delta=0.02'];
  const twice = ['objective.iterations=2', 'objective.oldLogprobs=recompute'];

  it('begins after the first update, and grows with each that is below the target', async () => {
    const trainer = withReference([...settings, ...twice, 'entropy.target=100']);
    const [first, second] = (await steps(trainer, 2)) as [RecordedStep, RecordedStep];
    expect(partOf(first, 'entropy', 0)).toBeUndefined();
    expect(partOf(first, 'entropy', 1)).toBeCloseTo(-0.12, 12);
    expect(partOf(second, 'entropy', 0)).toBeCloseTo(-0.14, 12);
    expect(first.updates.map(({ entropyCoefficient }) => entropyCoefficient)).toEqual([
      0,
      expect.closeTo(0.12, 12),
    ]);
    // As TRL logs it: after the step.
    expect([first, second].map(({ metrics }) => metrics.entropy_coef)).toEqual([
      expect.closeTo(0.14, 12),
      expect.closeTo(0.18, 12),
    ]);
  });

  it('is off above the target, and falls', async () => {
    const results = await steps(withReference([...settings, ...twice, 'entropy.target=1e-3']), 2);
    for (const result of results) expect(partOf(result, 'entropy', 1)).toBeUndefined();
    expect(results.map(({ metrics }) => metrics.entropy_coef)).toEqual([
      expect.closeTo(0.06, 12),
      expect.closeTo(0.02, 12),
    ]);
  });

  it('follows the entropy of the tokens that have the bonus', async () => {
    const trainer = withReference([...settings, 'entropy.target=100', 'entropy.topShare=0.25']);
    const [result] = await steps(trainer, 1);
    const entropies = [...result!.updates[0]!.entropies!].sort((a, b) => b - a);
    const top = entropies.slice(0, Math.ceil(entropies.length / 4));
    const mean = sum(top) / top.length;
    expect(trainer.control.state.entropy.last).toBeCloseTo(mean, 2);
    expect(mean).toBeGreaterThan(result!.metrics.entropy! + 0.05);
  });
});
