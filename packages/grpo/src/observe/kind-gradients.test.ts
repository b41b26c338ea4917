import { describe, expect, it } from 'vitest';
import {
  fixtureModel,
  intoGradients,
  PROBLEMS,
  relativeError,
  spreadRewards,
  trainerOf,
} from '../step/step.test.helper.js';
import { recordStep } from './record-step.js';

type Gradients = Map<string, Float32Array>;
const kinds = ['a', 'b', 'a', 'c'];
const problems = PROBLEMS.map((problem, i) => ({ ...problem, row: { kind: kinds[i] } }));

/** A step on all problems, learning only from the groups of some kinds. */
async function stepOf(settings: readonly string[], learns: (kind: string) => boolean, step = 0) {
  let gradients: Gradients = new Map();
  const model = fixtureModel('llama3');
  const stages = {
    score: spreadRewards,
    update: intoGradients(model, (own) => {
      gradients = own;
    }),
    advantage: (...given: Parameters<typeof standard>) => {
      const made = standard(...given);
      return {
        ...made,
        advantages: made.advantages.map((a, b) => (learns(kinds[Math.floor(b / 4)]!) ? a : 0)),
      };
    },
  };
  const standard = (await import('../step/stages.js')).stages.advantage;
  const trainer = trainerOf(model, ['rollout.prompts=4', 'train.microBatchTokens=32', ...settings], stages);
  const { metrics, loss } = await recordStep(trainer, problems, step, 0.01);
  return { gradients, metrics, loss };
}

const dot = (a: Gradients, b: Gradients) =>
  [...a].reduce((sum, [name, own]) => sum + own.reduce((s, x, i) => s + x * b.get(name)![i]!, 0), 0);

describe('gradients of kinds', () => {
  const MEASURED = ['kl.kindKey=kind', 'train.kindGradients=1'];

  it('have the norms and the least cosine of those of each kind alone', async () => {
    const { metrics } = await stepOf(MEASURED, () => true);
    const alone: Gradients[] = [];
    for (const kind of ['a', 'b', 'c']) alone.push((await stepOf([], (own) => own === kind)).gradients);
    const norms = alone.map((own) => Math.sqrt(dot(own, own)));
    for (const [k, kind] of ['a', 'b', 'c'].entries())
      expect(metrics[`grad_norm/${kind}`]! / norms[k]!).toBeCloseTo(1, 4);
    const cosine = (i: number, j: number) => dot(alone[i]!, alone[j]!) / (norms[i]! * norms[j]!);
    expect(metrics.grad_cosine).toBeCloseTo(Math.min(cosine(0, 1), cosine(0, 2), cosine(1, 2)), 4);
  });

  it('add up to the same gradient and loss', async () => {
    const [measured, plain] = [await stepOf(MEASURED, () => true), await stepOf([], () => true)];
    expect(relativeError(measured.gradients, plain.gradients)).toBeLessThan(1e-5);
    expect(measured.loss).toBeCloseTo(plain.loss, 6);
  });

  it('have no cosine where only one learns', async () => {
    const { metrics } = await stepOf(MEASURED, (kind) => kind === 'b');
    expect(metrics).not.toHaveProperty('grad_cosine');
    expect(metrics['grad_norm/a']).toBe(0);
    expect(metrics['grad_norm/b']).toBeGreaterThan(0);
  });

  it('are measured every k steps', async () => {
    const every = (step: number) => stepOf(['kl.kindKey=kind', 'train.kindGradients=2'], () => true, step);
    expect((await every(1)).metrics).not.toHaveProperty('grad_cosine');
    expect((await every(2)).metrics).toHaveProperty('grad_cosine');
  });
});
