/** What each finding of a log says. */
import { percent, type Words } from './format.js';

export const logWords: Record<string, Words> = {
  'B06.log': (of) =>
    `${of('name')} is 0 in every entry, while completions end by themselves: the format cannot be fulfilled, or is never seen whole.`,
  'B08.log': (of) =>
    `The share of completions that are cut off rose by ${of('rise')}: the model unlearns to stop.`,
  'B16.log': (of, m) =>
    `${of('inARow')} entries in a row have nearly all completions cut off${m.fromStart ? ', from the start' : ''}: completions do not end by themselves.`,
  'B20.log': (of) =>
    `The reward is ${of('reward')} in all ${of('entries')} entries, with deviation 0: every completion earns the same, so no advantage and no gradient. A reward function that falls back to a constant does that.`,
  'B22.log': (of) => `Reward functions failed in ${of('withFailures')} of ${of('entries')} entries.`,
  'B26.log': () =>
    'The total reward rises while the reward for the answer falls: the policy is paid for something else.',
  'B28.log': (of) => `${of('dead')} of ${of('rewards')} rewards never pay (${of('name')}).`,
  'B30.gradient': (of) =>
    `${of('moved')} of ${of('entries')} entries without any difference in reward have a gradient all the same.`,
  'B30.log': (of) =>
    `In ${of('inARow')} entries in a row every group has equal rewards: nothing to learn from.`,
  'B38.log': (of, m) =>
    typeof m.median === 'number' && m.median < -0.1
      ? `The KL is negative throughout (median ${of('median')} nats a token), which no average of it can be: policy and reference are scored differently.`
      : `The KL is ${of('first')} nats a token from the first entry on and hardly changes (${of('last')} at the end): policy and reference are scored differently; this is no drift.`,
  'B39.log': (of, m) =>
    m.rising
      ? `The gap between sampler and trainer grows (×${of('growth')}).`
      : `Sampler and trainer differ by ${of('median')} nat a token.`,
  'B40.log': (of) =>
    `Nothing was clipped in ${of('entries')} entries, although ${of('updates')} updates are made from each rollout: the ratio seems to stay 1.`,
  'B42.log': (of) =>
    `${of('inARow')} times in a row the entropy fell after its coefficient was raised: the sign of the bonus is probably wrong.`,
  'B45.log': (of) => `${of('broken')} values of loss, gradient or reward are no numbers.`,
  'B45.zero-log': (_, m) =>
    m.gradient
      ? 'The loss is 0 throughout, and there is a gradient: normal at ratio 1, the run can learn.'
      : 'Loss and gradient are 0 throughout: nothing is trained.',
  'B49.explosion': (of) => `The KL explodes in ${of('wild')} entries (median ${of('median')}).`,
  'B49.log': (of) =>
    `The KL is negative in ${of('negative')} of ${of('entries')} entries, which k3 cannot be.`,
  'B51.log': (of) =>
    `The KL of step 1 is ${of('kl')}, before any update. Cannot tell: the reference is another model (B51), or policy and reference are scored differently (B38). The policy scored twice would tell: different numbers are dropout.`,
  'B52.log': (of, m) =>
    typeof m.evaluationsAlike === 'number' && m.evaluationsAlike >= 3
      ? `${of('evaluationsAlike')} evaluations in a row are equal to the last bit: the weights seem not to move.`
      : `${of('rewardsAlike')} rewards in a row are equal to the last bit: the weights seem not to move.`,
  'B53.log': (of) =>
    `In ${of('dead')} of ${of('entries')} entries rewards differ within groups and the gradient is 0 all the same.`,
  'B54.clipped': (of, m) =>
    `The gradient is clipped in ${percent(m.share)} of the steps (at ${of('clip')}): the step size is set by the clip.`,
  'B54.entropy': (of) => `The entropy fell from ${of('first')} to ${of('last')} nats a token.`,
  'B54.gradient': (of) => `The gradient norm grows to ${of('worst')}, from a usual ${of('usual')}.`,
  'B54.rate': (of) => `The learning rate is 0 in all ${of('entries')} entries.`,
  'B58.log': () => 'The training reward rises while the evaluation falls.',
  'B59.metrics': (of) => `${of('broken')} of ${of('entries')} entries contradict themselves.`,
  'B60.slow': (of) => `${of('slow')} steps took more than three times the median of ${of('median')} s.`,
};
