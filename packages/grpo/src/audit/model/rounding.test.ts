import { noGrad, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { type LabRun, labRun } from '../../lab/lab-run.js';
import { stages } from '../../step/stages.js';
import type { Comparison } from '../../trace/index.js';
import { scoreSequences } from '../plain/plain-logprobs.js';
import { expectedOf, fixtureModel, promptsOf } from '../plain/plain-model.test.helper.js';
import { compareRows } from './compare-rows.js';
import { runPlain } from './plain-step.js';
import { movedByRounding, scoresMovedByRounding, widened } from './rounding.js';
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
  expect(ours / rms(theirs)).toBeGreaterThan(1 / 2);
  expect(ours / rms(theirs)).toBeLessThan(4);
});

it('moves the gradient of every tensor by some of itself', () => {
  tidy(() => {
    const runs = runPlain(model, sequences, options).map((run, i) => ({ ...sequences[i]!, ...run }));
    const slopesOf = (slope: number) =>
      sequences.map(({ completion: { length } }) => ({
        logprobs: new Float64Array(length).fill(slope),
        entropies: new Float64Array(length),
      }));
    const [once, twice] = [1, 2].map((slope) => movedByRounding(model, runs, slopesOf(slope), options));
    expect([...once!.keys()].sort()).toEqual([...model.weights.keys()].sort());
    for (const [name, distance] of once!) {
      expect(distance, name).toBeGreaterThan(0);
      // A gradient is linear in its slopes, and so is what rounding does to it, but for the rounding of slopes.
      expect(twice!.get(name)! / distance, name).toBeCloseTo(2, 1);
    }
  });
});

it('widens the bounds of what is beyond them, in half precision', () => {
  const asked: number[] = [];
  const compare = (deviation: number) => (times: number) => {
    asked.push(times);
    return [{ deviation, bound: 1 + times } as Comparison];
  };
  expect(widened(3, compare(0.5))[0]!.bound).toBe(1);
  expect(widened(0, compare(2))[0]!.bound).toBe(1);
  expect(asked).toEqual([0, 0]);
  expect(widened(3, compare(2))[0]!.bound).toBe(4);
  expect(widened(3, compare(Number.NaN))[0]!.bound).toBe(4);
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
