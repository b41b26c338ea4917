import { grad, noGrad, tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { type LabRun, labRun } from '../../lab/lab-run.js';
import { uniform } from '../../maths/random.js';
import { stages } from '../../step/stages.js';
import type { Comparison } from '../../trace/index.js';
import { bent } from '../plain/plain-attention.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import { expectedOf, fixtureModel, promptsOf } from '../plain/plain-model.test.helper.js';
import { compareRows } from './compare-rows.js';
import { runPlain } from './plain-run.js';
import { gradientsMovedByRounding, scoresMovedByRounding, widened } from './rounding.js';
import { toleranceOf } from './tolerance.js';

const options = { temperature: 1, tell: () => {} };
const NAME = 'qwen3-bf16';
const model = fixtureModel(NAME);
const sequences = promptsOf(`models/${NAME}`)
  .filter(({ length }) => length > 4)
  .map((ids) => ({ prompt: ids.slice(0, 2), completion: ids.slice(2) }));
const rms = (values: readonly number[]) =>
  Math.sqrt(values.reduce((sum, x) => sum + x * x, 0) / values.length);

it('moves log-probs about as far as PyTorch does in bfloat16', () => {
  const expected = expectedOf(`models/${NAME}`);
  const theirs = promptsOf(`models/${NAME}`).flatMap((ids, i) => {
    if (ids.length <= 4) return [];
    const logprobs = (name: string) =>
      noGrad(() => tidy(() => expected.get(name)!.to('float32').logSoftmax(-1).toNumbers()));
    const [narrow, wide] = [logprobs(`logits.${i}`), logprobs(`logitsFloat32.${i}`)];
    const vocabulary = narrow.length / ids.length;
    return ids.slice(2).map((id, t) => {
      const place = (t + 1) * vocabulary + id;
      return narrow[place]! - wide[place]!;
    });
  });
  const scores = scoreSequences(model, sequences, 1);
  const scored = sequences.map((one, i) => ({ ...one, scores: scores[i]! }));
  const moved = scoresMovedByRounding(model, scored, options)();
  const ours = rms(moved.flatMap(({ whole }) => [...whole]));
  expect(moved.map(({ whole }) => whole.length)).toEqual(sequences.map((one) => one.completion.length));
  expect(ours / rms(theirs)).toBeGreaterThan(0.8);
  expect(ours / rms(theirs)).toBeLessThan(2.5);
});

it('moves the gradient of every tensor by some of itself', () => {
  tidy(() => {
    const runs = runPlain(model, sequences, options).map((run, i) => ({ ...sequences[i]!, ...run }));
    const slopesOf = (slope: number) =>
      sequences.map(({ completion: { length } }) => ({
        logprobs: new Float64Array(length).fill(slope),
        entropies: new Float64Array(length),
      }));
    const [once, twice] = [1, 2].map((slope) =>
      gradientsMovedByRounding(model, runs, slopesOf(slope), options),
    );
    expect([...once!.keys()].sort()).toEqual([...model.weights.keys()].sort());
    for (const [name, distance] of once!) {
      expect(distance, name).toBeGreaterThan(0);
      // Rounding keeps factors of 2.
      expect(twice!.get(name)! / distance, name).toBeCloseTo(2, 4);
    }
  });
});

it('moves the numbers of draws, and how far greedy tokens lie behind the likeliest', () => {
  const movedBy = (temperature: number) => {
    const rules = {
      ...resolveConfig({ command: 'train', settings: ['task.name=arithmetic'] }).config.rollout,
    };
    const rulesOf = () => ({ ...rules, temperature, endIds: [], margin: 0 });
    const scores = scoreSequences(model, sequences, temperature, () => {}, rulesOf);
    const scored = sequences.map((one, i) => ({ ...one, scores: scores[i]! }));
    return scoresMovedByRounding(model, scored, { ...options, temperature, rulesOf })();
  };
  const lengths = sequences.map((one) => one.completion.length);
  const [drawn, greedy] = [movedBy(1), movedBy(0)];
  expect(drawn.map(({ numbers }) => numbers.length)).toEqual(lengths);
  expect(greedy.map(({ behind }) => behind.length)).toEqual(lengths);
  expect(
    [...drawn.map(({ behind }) => behind), ...greedy.map(({ numbers }) => numbers)].flatMap((x) => [...x]),
  ).toEqual([]);
  for (const moved of [drawn.map(({ numbers }) => numbers), greedy.map(({ behind }) => behind)]) {
    expect(rms(moved.flatMap((x) => [...x]))).toBeGreaterThan(1e-5);
    expect(Math.max(...moved.flatMap((x) => [...x]))).toBeLessThan(0.1);
  }
});

it('gives scores the slopes of a sum over the keys that is taken from a rounded output', () => {
  tidy(() => {
    const draw = (length: number, seed: number) =>
      Float32Array.from({ length }, (_, i) => 4 * uniform(seed, i) - 2);
    const scores = tensor(draw(12, 1), [1, 3, 4]);
    scores.requiresGrad = true;
    const [values, slopes, rounding] = [
      tensor(draw(8, 2), [1, 4, 2]),
      tensor(draw(6, 3), [1, 3, 2]),
      tensor(draw(6, 4), [1, 3, 2]),
    ];
    const weights = scores.softmax(-1);
    const exact = weights.matmul(values);
    const out = exact.sub(bent(scores, rounding));
    expect(out.toNumbers()).toEqual(exact.toNumbers());
    const [found] = grad([out], [scores], [slopes]);
    // P × (∂P − Σ output × its gradient), with the output as it was rounded.
    const sums = exact.add(rounding).mul(slopes).sumDim([-1], true);
    const expected = weights.mul(slopes.matmul(values.transpose(1, 2)).sub(sums)).toNumbers();
    for (const [i, slope] of found!.toNumbers().entries()) expect(slope).toBeCloseTo(expected[i]!, 5);
  });
});

it('widens the bounds of what is beyond them, in half precision', () => {
  let asked = 0;
  const moved = () => {
    asked++;
    return 0.5;
  };
  const boundOf = (roundings: number, deviation: number) =>
    widened(roundings, (besides) => [{ deviation, bound: 1 + besides(moved) } as Comparison])[0]!.bound;
  expect([boundOf(3, 0.5), boundOf(0, 2)]).toEqual([1, 1]);
  expect(asked).toBe(0);
  expect([boundOf(3, 2), boundOf(3, Number.NaN)]).toEqual([2.5, 2.5]);
});

it('allows a token what rounding does to it, and no other', () => {
  const tolerance = toleranceOf('bfloat16');
  const plain = new Float32Array(40).fill(-1);
  const off = (token: number) => plain.map((logprob, t) => (t === token ? logprob - 2 : logprob));
  const moved = () => Float64Array.from(plain, (_, t) => (t === 3 ? 0.5 : 0));
  const holds = (found: Float32Array) =>
    compareRows('completion', 'log-prob', [{ completion: 0, found, plain, moved }], tolerance).every(
      ({ deviation, bound }) => deviation <= bound,
    );
  expect(holds(off(3))).toBe(true);
  expect(holds(off(4))).toBe(false);
  expect(holds(off(3).fill(Number.NaN, 5, 6))).toBe(false);
});

it('explains no log-prob of the sampler that is 3 nats off, be it of one completion only', async () => {
  for (const dtype of ['float32', 'bfloat16'] as const) {
    const disagrees = async (isWrong: (b: number) => boolean) => {
      const sample: typeof stages.sample = async (...given) => {
        const groups = await stages.sample(...given);
        let b = 0;
        for (const completion of groups.flat()) if (isWrong(b++)) completion.logprobs[0]! -= 3;
        return groups;
      };
      const run: LabRun = { policy: { dtype }, settings: [`dtype=${dtype}`], steps: 1 };
      const { records } = await labRun({
        ...run,
        plant: (trainer) => ({ stages: { ...trainer.stages, sample } }),
      });
      const { comparisons, completions } = records[0]!.audit!;
      const apart = comparisons.filter(({ deviation, bound }) => !(deviation <= bound));
      return { apart: apart.map(({ quantity }) => quantity), completions };
    };
    const { apart, completions } = await disagrees(() => false);
    expect(apart).toEqual([]);
    const found = await disagrees((b) => b === completions[0]);
    expect(found.apart).toContain('log-prob of the sampler');
  }
});
