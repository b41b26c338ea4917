import { describe, expect, it } from 'vitest';
import { requireModelKind } from './model-kind.js';
import { resolveConfig } from './resolve.js';

const given = (...settings: string[]) =>
  resolveConfig({ command: 'train', settings: ['task.data=a.jsonl', 'model=m', ...settings], env: {} });

const DIFFUSION = true;
const CAUSAL = false;

describe('a masked-diffusion model', () => {
  it.each([
    ['objective.oldLogprobs=sampler', 'estimates its log-prob with all of them hidden'],
    ['correction.level=token', 'Use correction.level=off'],
    ['groups.replay=4', 'Use groups.replay=0', 'objective.oldLogprobs=recompute'],
    ['kl.estimator=full', 'Use kl.estimator=k3', 'kl.beta=0.1'],
    ['kl.place=reward', 'Use kl.place=loss', 'kl.beta=0.1', 'kl.estimator=k1'],
    ['rollout.repetitionPenalty=1.2', 'Use rollout.repetitionPenalty=1'],
    ['rollout.presencePenalty=0.1', 'Use rollout.presencePenalty=0'],
    ['rollout.frequencyPenalty=0.1', 'Use rollout.frequencyPenalty=0'],
    ['rollout.invariant=true', 'Take it out'],
    ['rollout.keepSupport=true', 'Take it out', 'rollout.topP=0.9'],
    ['rollout.engine=sglang', 'Use rollout.engine=own', 'rollout.urls=[http://a:1]'],
  ])('does not go with %s', (setting, remedy, ...beside) => {
    const key = setting.split('=')[0]!;
    const check = (isDiffusion: boolean) => requireModelKind(given(setting, ...beside), isDiffusion);
    expect(() => check(DIFFUSION)).toThrow(`${key} (command line): `);
    expect(() => check(DIFFUSION)).toThrow(remedy);
    expect(() => check(CAUSAL)).not.toThrow();
  });

  it('does not go with a preset of another kind, whoever chose its values', () => {
    expect(() => requireModelKind(given('preset=rloo'), DIFFUSION)).toThrow(/kl\.place \(preset rloo \(/);
    const text = 'preset=grpo-dual';
    expect(() => requireModelKind(given(text), DIFFUSION)).toThrow(/3 problems in the configuration:/);
  });

  it('goes with the defaults and the presets that are for it', () => {
    for (const settings of [
      [],
      ...['diffu-grpo', 'coupled-grpo', 'seed-003'].map((name) => [`preset=${name}`]),
    ])
      expect(() => requireModelKind(given(...settings), DIFFUSION), settings.join()).not.toThrow();
  });
});

describe('a causal model', () => {
  it('does not go with settings of a masked-diffusion model', () => {
    expect(() => requireModelKind(given(), CAUSAL)).not.toThrow();
    expect(() => requireModelKind(given('diffusion.steps=8'), CAUSAL)).toThrow(
      'diffusion.steps (command line): the model writes from left to right, so it has no effect. Give a masked-diffusion model',
    );
    expect(() => requireModelKind(given('preset=seed-003'), CAUSAL)).toThrow(
      /diffusion\.estimator \(preset seed-003 \(nano_gpt/,
    );
  });
});
