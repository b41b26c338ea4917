import { noGrad, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { finalNorm, headOf, lastStates } from './plain-decoder.js';
import { eachLogits } from './plain-head.js';
import type { PlainModel } from './plain-model.js';
import { causal, expectedOf, fixtureModel, promptsOf } from './plain-model.test.helper.js';

function logitsOf(model: PlainModel, ids: readonly number[]): number[] {
  return noGrad(() =>
    tidy(() => {
      const all: number[] = [];
      const normed = finalNorm(model).of(lastStates(model, [ids])[0]!);
      eachLogits(normed, headOf(model), (logits) => all.push(...logits.toNumbers()));
      return all;
    }),
  );
}

function furthest(ours: readonly number[], theirs: readonly number[]): number {
  expect(ours.length).toBe(theirs.length);
  return ours.reduce((most, x, i) => Math.max(most, Math.abs(x - theirs[i]!)), 0);
}

const masked = ['a2d-llama', 'a2d-qwen2', 'a2d-qwen3', 'dream', 'llada'];

describe('the plain decoder', () => {
  it.each([...causal, ...masked])('has the logits of PyTorch for %s', (name) => {
    const [model, expected] = [fixtureModel(name), expectedOf(`models/${name}`)];
    for (const [i, ids] of promptsOf(`models/${name}`).entries()) {
      const theirs = expected.get(`logits.${i}`)!.toNumbers();
      expect(furthest(logitsOf(model, ids), theirs)).toBeLessThan(2e-5);
    }
  });

  it.each(['qwen3-bf16', 'a2d-qwen3-bf16'])('computes bfloat16 weights in float32: %s', (name) => {
    const [model, expected] = [fixtureModel(name), expectedOf(`models/${name}`)];
    for (const [i, ids] of promptsOf(`models/${name}`).entries()) {
      const theirs = expected.get(`logitsFloat32.${i}`)!.toNumbers();
      expect(furthest(logitsOf(model, ids), theirs)).toBeLessThan(2e-5);
    }
  });

  it.each(['gpt2', 'llama3'])('has the logits of PEFT for an adapted %s', (name) => {
    const [model, expected] = [fixtureModel(name, name), expectedOf(`lora/${name}`)];
    for (const i of [0, 1]) {
      const ids = expected.get(`ids.${i}`)!.toNumbers();
      const theirs = expected.get(`logits.${i}`)!.toNumbers();
      expect(furthest(logitsOf(model, ids), theirs)).toBeLessThan(2e-5);
    }
  });

  it('names a tensor that is missing, and a family that it does not know', () => {
    const { config, weights } = fixtureModel('qwen3');
    const without = new Map(weights);
    without.delete('model.layers.1.self_attn.k_norm.weight');
    expect(() => logitsOf({ config, weights: without }, [1, 2])).toThrow(
      'the model has no tensor model.layers.1.self_attn.k_norm.weight',
    );
    expect(() => logitsOf({ config: { ...config, model_type: 'mamba' }, weights }, [1])).toThrow('mamba');
  });
});
