import { describe, expect, it, onTestFinished } from 'vitest';
import { Watch } from '../progress/watch.js';
import { grpoStep } from '../step/grpo-step.js';
import type { StepObserver } from '../step/observer.js';
import { PROMPTS, takeSteps } from '../step/peers/ranks.test.helper.js';
import {
  fixtureModel,
  intoGradients,
  neighbour,
  PROBLEMS,
  spreadRewards,
  trainerOf,
  weightsOf,
} from '../step/step.test.helper.js';
import type { Trainer } from '../step/trainer.js';
import { StepRecorder } from './step-recorder.js';

/** Everything that a step can do besides, and everything that an observer measures. */
const EVERYTHING = [
  'kl.beta=0.05',
  'kl.control=lagrangian',
  'kl.target=0.001',
  'kl.kindKey=kind',
  'train.kindGradients=1',
  'train.microBatchTokens=40',
  'entropy.adaptive=true',
  'entropy.target=3',
  'objective.iterations=2',
  'objective.minibatches=2',
  'objective.oldLogprobs=recompute',
  'rollout.prompts=4',
];
const problems = PROBLEMS.map((problem, i) => ({ ...problem, row: { kind: i % 2 === 0 ? 'a' : 'b' } }));

/** The weights and the weights of the objective after two steps. */
async function trained(observersOf: (trainer: Trainer) => StepObserver[], watch?: Watch) {
  const model = fixtureModel('llama3', 'bfloat16');
  const reference = model.decoder.clone();
  onTestFinished(() => reference.dispose());
  const trainer = {
    ...trainerOf(model, [...EVERYTHING, 'dtype=bfloat16'], { score: spreadRewards }, reference),
    watch,
  };
  const losses: number[] = [];
  for (const step of [0, 1]) {
    const observers = observersOf(trainer);
    losses.push((await grpoStep({ ...trainer, observers }, problems, step, 1e-3)).loss);
  }
  return { losses, weights: weightsOf(model.decoder), control: trainer.control.state };
}

describe('what watches a step', () => {
  it('changes no bit of it', async () => {
    const before = weightsOf(fixtureModel('llama3', 'bfloat16').decoder);
    const recorders: StepRecorder[] = [];
    const reports: string[] = [];
    const watch = new Watch({ progress: ({ stage }) => reports.push(stage) });
    const watched = await trained((trainer) => {
      const recorder = new StepRecorder(trainer, { measureWeights: true, probeScoring: true });
      recorders.push(recorder);
      return [recorder];
    }, watch);
    const alone = await trained(() => []);
    expect(watched).toEqual(alone);
    expect(alone.weights).not.toEqual(before);
    // All of it was measured.
    const { recorded } = recorders[1]!;
    expect(recorded.updates).toHaveLength(4);
    expect(recorded.updates[0]).toHaveProperty('lostShare');
    expect(recorded.probes).toHaveProperty('aloneInBatch');
    expect(recorded.metrics).toHaveProperty('grad_cosine');
    expect(recorded.metrics).toHaveProperty('kl/a');
    expect(Object.keys(recorded.seconds)).toEqual(
      expect.arrayContaining(['sample', 'old', 'reference', 'backward', 'kinds', 'probe', 'update']),
    );
    expect(new Set(reports)).toContain('probes');
  });

  it('has the step also where its gradient is not finite', async () => {
    const model = fixtureModel('llama3');
    const update = intoGradients(model, () => {});
    const trainer = trainerOf(model, ['objective.iterations=2', 'objective.oldLogprobs=sampler'], {
      score: spreadRewards,
      update: (...args) => ({ gradNorm: made++ === 0 ? update(...args).gradNorm : Number.NaN }),
    });
    let made = 0;
    const recorder = new StepRecorder(trainer);
    expect(() => recorder.recorded).toThrow('the step is not done yet');
    const step = grpoStep({ ...trainer, observers: [recorder] }, PROBLEMS, 0, 0.01);
    await expect(step).rejects.toThrow('step 1: the gradient is NaN');
    expect(recorder.recorded.updates.map(({ gradNorm }) => gradNorm)).toEqual([1, Number.NaN]);
  });

  it('is the same in each of several processes, whichever made a micro-batch', async () => {
    const settings = EVERYTHING.filter((own) => !/kind|rollout.prompts/i.test(own));
    const recordersOf = async (size: number) => {
      const recorders: StepRecorder[] = [];
      await takeSteps(size, {
        settings,
        problems: PROMPTS.slice(0, 4),
        reference: () => neighbour(fixtureModel('llama3').decoder),
        trainer: (trainer) => {
          const recorder = new StepRecorder(trainer, { measureWeights: true, probeScoring: true });
          recorders.push(recorder);
          return { observers: [...trainer.observers!, recorder] };
        },
      });
      return recorders.map(({ recorded: { batch, seconds, ...own } }) => own);
    };
    const [[alone], [first, ...others]] = [await recordersOf(1), await recordersOf(3)];
    for (const own of others) expect(own).toEqual(first);
    expect(Object.keys(first!.metrics)).toEqual(Object.keys(alone!.metrics));
    for (const [u, { ratios, microBatches }] of first!.updates.entries()) {
      const own = alone!.updates[u]!;
      expect(microBatches!.executed).toBe(microBatches!.configured);
      expect(first!.updates[u]!.completions).toEqual(own.completions);
      for (const [t, ratio] of ratios!.entries()) expect(ratio).toBeCloseTo(own.ratios![t]!, 5);
    }
  });
});
