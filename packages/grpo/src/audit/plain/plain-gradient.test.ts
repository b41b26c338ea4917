import { tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import type { Slopes } from '../../doctor/recompute/policy-slopes.js';
import type { SlopedPass } from './head-slopes.js';
import { layerStates } from './plain-decoder.js';
import { eachGradient, type TakeGradient } from './plain-gradient.js';
import { type PlainScores, plainScores, scoreSequences } from './plain-logprobs.js';
import type { PlainModel } from './plain-model.js';
import { causal, expectedOf, fixtureModel, hiddenOf, promptsOf } from './plain-model.test.helper.js';
import { type PlainSequence, passesOf, passSlopes } from './plain-pass.js';

/** The passes over a completion with the slopes of a loss in its log-probs and entropies. */
function forwardOf(
  model: PlainModel,
  sequence: PlainSequence,
  slopes: Slopes,
  temperature: number,
): SlopedPass[] {
  const passes = passesOf(model, sequence);
  const states = layerStates(
    model,
    passes.map(({ input }) => input),
  );
  const last = states.map((layers) => layers.at(-1)!);
  const scores = plainScores(model, sequence, passes, last, temperature).passes;
  const own = passSlopes(passes, slopes);
  return passes.map((pass, k) => ({ ...pass, states: states[k]!, scores: scores[k]!, slopes: own[k]! }));
}

const collectInto =
  (found: Map<string, number[]>): TakeGradient =>
  (name, gradient) =>
    found.set(name, [...(found.get(name) ?? []), ...gradient.toNumbers()]);

/** Gradients of Σ slope × log-prob of the tokens of each completion. */
function gradientsOf(
  model: PlainModel,
  sequences: readonly PlainSequence[],
  slopesOf: (length: number) => Slopes,
  temperature = 1,
): Map<string, number[]> {
  return tidy(() => {
    const found = new Map<string, number[]>();
    const sloped = sequences.flatMap((one) =>
      forwardOf(model, one, slopesOf(one.completion.length), temperature),
    );
    eachGradient(model, sloped, temperature, collectInto(found));
    return found;
  });
}

/** Everything but the first token as a completion of it. */
const afterFirst = (sequences: readonly number[][]): PlainSequence[] =>
  sequences
    .filter((ids) => ids.length > 1)
    .map((ids) => ({ prompt: ids.slice(0, 1), completion: ids.slice(1) }));

const even = (slope: number) => (length: number) => ({
  logprobs: new Float64Array(length).fill(slope),
  entropies: new Float64Array(length),
});

function relative(ours: readonly number[], theirs: readonly number[]): number {
  expect(ours.length).toBe(theirs.length);
  const norm = (of: (i: number) => number) => Math.sqrt(ours.reduce((sum, _, i) => sum + of(i) ** 2, 0));
  return norm((i) => ours[i]! - theirs[i]!) / norm((i) => theirs[i]!);
}

describe('the plain gradient', () => {
  it.each(causal)('is that of transformers for every tensor of %s', (name) => {
    const [model, expected] = [fixtureModel(name), expectedOf(`models/${name}`)];
    const prompts = promptsOf(`models/${name}`);
    const tokens = prompts.reduce((sum, ids) => sum + Math.max(0, ids.length - 1), 0);
    const found = gradientsOf(model, afterFirst(prompts), even(-1 / tokens));
    const names = [...expected.keys()].filter((key) => key.startsWith('grad.'));
    expect([...found.keys()].map((key) => `grad.${key}`).sort()).toEqual(names.sort());
    for (const [key, ours] of found) {
      const theirs = expected.get(`grad.${key}`)!;
      const isConv1d = name === 'gpt2' && /c_\w+\.weight$/.test(key);
      expect(relative(ours, (isConv1d ? theirs.t().contiguous() : theirs).toNumbers()), key).toBeLessThan(
        1e-4,
      );
    }
  });

  it.each(['a2d-qwen2', 'a2d-qwen3', 'dream', 'llada'])(
    'is that of PyTorch for every tensor of %s, of the hidden tokens',
    (name) => {
      const [model, expected] = [fixtureModel(name), expectedOf(`models/${name}`)];
      const hidden = hiddenOf(name);
      const tokens = hidden.reduce(
        (sum, { masked }) => sum + masked.plan[0]!.region.filter(Boolean).length,
        0,
      );
      const found = gradientsOf(model, hidden, even(-1 / tokens));
      const names = [...expected.keys()].filter((key) => key.startsWith('grad.'));
      expect([...found.keys()].map((key) => `grad.${key}`).sort()).toEqual(names.sort());
      for (const [key, ours] of found)
        expect(relative(ours, expected.get(`grad.${key}`)!.toNumbers()), key).toBeLessThan(1e-4);
    },
  );

  it.each(['gpt2', 'llama3'])('is that of PEFT for the adapters of %s, and of nothing else', (name) => {
    const [model, expected] = [fixtureModel(name, name), expectedOf(`lora/${name}`)];
    const sequences = [0, 1].map((i) => expected.get(`ids.${i}`)!.toNumbers());
    const tokens = sequences.reduce((sum, ids) => sum + ids.length - 1, 0);
    const found = gradientsOf(model, afterFirst(sequences), even(-1 / tokens));
    expect([...found.keys()].sort()).toEqual([...model.adapters!.matrices.keys()].sort());
    for (const [key, ours] of found)
      expect(relative(ours, expected.get(`grad.${key}`)!.toNumbers()), key).toBeLessThan(1e-4);
  });

  it('has the slopes of log-probs and entropies at a temperature', () => {
    const model = fixtureModel('llama3-tied');
    const ids = promptsOf('models/llama3-tied').at(-1)!;
    const sequence = { prompt: ids.slice(0, 2), completion: ids.slice(2, 6) };
    const slopes = {
      logprobs: Float64Array.of(1, -2, 0, 0.5),
      entropies: Float64Array.of(0.3, 0, -1, 2),
    };
    const temperature = 0.7;
    const name = 'model.norm.weight';
    const weight = model.weights.get(name)!;
    const value = () => {
      const [{ logprobs, entropies }] = scoreSequences(model, [sequence], temperature) as [PlainScores];
      return [...logprobs].reduce(
        (sum, logprob, t) => sum + slopes.logprobs[t]! * logprob + slopes.entropies[t]! * entropies[t]!,
        0,
      );
    };
    tidy(() => {
      const found = new Map<string, number[]>();
      const sloped = forwardOf(model, sequence, slopes, temperature);
      eachGradient(model, sloped, temperature, collectInto(found));
      for (const i of [0, 7, 31]) {
        const h = 1e-2;
        const at = (change: number) => {
          weight.narrow(0, i, 1).add_(change);
          const result = value();
          weight.narrow(0, i, 1).sub_(change);
          return result;
        };
        expect((at(h) - at(-h)) / (2 * h)).toBeCloseTo(found.get(name)![i]!, 2);
      }
    });
  });
});
