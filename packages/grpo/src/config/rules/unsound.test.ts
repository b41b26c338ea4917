import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../resolve.js';
import { cautionsOf } from './unsound.js';

const cautions = (...settings: string[]) =>
  cautionsOf(resolveConfig({ command: 'explain', settings, env: {} }).config);

const MANY = ['objective.iterations=2', 'objective.oldLogprobs=recompute'];

/** Settings that bring a sentence, and the least change that takes it away. */
const cases: [why: RegExp, unsound: string[], sound: string[]][] = [
  [/gradient of k1 in the loss/, ['kl.beta=0.1', 'kl.estimator=k1'], ['kl.beta=0.1']],
  [
    /gradient of k1 in the loss/,
    ['kl.beta=0.1', 'kl.estimator=k1'],
    ['kl.beta=0.1', 'kl.estimator=k1', 'kl.place=reward'],
  ],
  [
    /only k1 gives the gradient/,
    ['kl.beta=0.1', 'kl.place=reward'],
    ['kl.beta=0.1', 'kl.place=reward', 'kl.estimator=k1'],
  ],
  [/variance explodes/, ['kl.beta=0.1', 'kl.level=sequence_sum'], ['kl.beta=0.1', 'kl.level=sequence_mean']],
  [/long completions weigh more/, ['objective.ratio=sequence'], ['objective.loss=gspo']],
  [
    /long completions weigh more/,
    ['objective.ratio=sequence', 'objective.aggregation=constant'],
    ['objective.loss=luspo'],
  ],
  [
    /no longer the one that sampled/,
    ['objective.loss=reinforce_sum', 'objective.iterations=2'],
    ['objective.loss=reinforce_sum'],
  ],
  [/part of the vocabulary/, ['rollout.topP=0.9', 'rollout.keepSupport=false'], ['rollout.topP=0.9']],
  [/part of the vocabulary/, ['rollout.topK=5', 'rollout.keepSupport=false'], ['rollout.topK=5']],
  [/a penalized distribution/, ['rollout.repetitionPenalty=1.3'], []],
  [/pushed the same way/, ['advantage.flat=raw'], ['advantage.flat=drop']],
  [/Nothing damps/, ['advantage.epsilon=0'], ['advantage.epsilon=0', 'advantage.floor=0.01']],
  [/depends on how train\.microBatchTokens cuts/, ['objective.loss=bnpo'], ['objective.loss=dapo']],
  [/long wrong answers/, ['objective.loss=grpo'], ['objective.loss=dr_grpo']],
  [/the ratio is 1/, [], MANY],
  [/share of right answers/, ['advantage.scale=mean'], ['advantage.scale=none']],
  [
    /gap between sampler and trainer is not in it/,
    ['objective.loss=dppo_tv'],
    ['objective.loss=dppo_tv', 'objective.oldLogprobs=sampler'],
  ],
  [/never β × KL/, ['kl.beta=0.1', 'kl.control=adaptive', 'kl.target=1'], ['kl.beta=0.1']],
];

describe('cautions', () => {
  it.each(cases)('%s', (why, unsound, sound) => {
    const matching = cautions(...unsound).filter((caution) => why.test(caution.why));
    expect(matching).toHaveLength(1);
    expect(matching[0]!.why).toMatch(/^[A-Zkβ][^.]*(\.\w[^.]*)*\.$/);
    expect(cautions(...sound).filter((caution) => why.test(caution.why))).toEqual([]);
  });

  it('of what is sound and updates more than once are none', () => {
    expect(cautions(...MANY)).toEqual([]);
  });
});
