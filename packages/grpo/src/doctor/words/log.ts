/** What each finding of a log says. */
import { percent, type Words, written } from './format.js';

export const logWords: Record<string, Words> = {
  'B06.log': (of, m) =>
    `${m.name} is 0 in all ${of('entries')} entries, though completions end by themselves: either no completion has the format, or the reward never sees it whole (a stop string that the engine drops, an opening tag that is already in the prompt).`,
  'B08.log': (of) =>
    `The share of completions that are cut off rose by ${of('rise')}: the model unlearns to stop.`,
  'B09.log': (_, m) => `${percent(m.share)} of the completions are cut off at the limit of length.`,
  'B14.log': (of) =>
    `Up to ${of('equal')} different completions of a prompt have one total log-prob (${of('total')} nats on average), and all totals lie within ${of('spread')} of their mean: the sum runs on over the padding behind the completion.`,
  'B16.log': (of, m) =>
    `Nearly all completions are cut off in ${of('inARow')} entries in a row${m.fromStart ? ', from the start' : ''}${m.recovered ? ', and no more in the end' : ''}: they do not end by themselves.`,
  'B17.log': (of) =>
    `In ${of('alike')} of ${of('entries')} entries all completions of a prompt are identical. Cannot tell: a broken sampler, or a task that is learnt. Entropy and reward would tell.`,
  'B20.log': (of, m) =>
    `The reward is ${of('reward')} in all ${of('entries')} entries, with deviation 0: every completion earns the same, so there is no advantage and no gradient.${constantCause(m)}`,
  'B21.log': (of) =>
    `In ${of('wrong')} of ${of('entries')} entries the reward is not the weighted sum of its parts.`,
  'B22.log': (of) => `Reward functions failed in ${of('withFailures')} of ${of('entries')} entries.`,
  'B24.signal': (of, m) =>
    `The problems of kind ${m.strong} pull with a mean |advantage| of ${of('most')}, those of ${m.weak} with ${of('least')}: the run learns the one and hardly the other.`,
  'B26.log': () =>
    'The total reward rises while the reward for the answer falls: the policy is paid for something else.',
  'B28.log': (of, m) => `${of('dead')} of ${of('rewards')} rewards never pay (${m.name}).`,
  'B29.log': (of) => `The reward is no number in ${of('broken')} of ${of('entries')} entries.`,
  'B30.expected': (_, m) =>
    `${percent(m.actual)} of the groups have equal rewards, and ${percent(m.expected)} would if all problems were equally hard: most are always or never solved.`,
  'B30.gradient': (of) =>
    `${of('moved')} of ${of('entries')} entries without any difference in reward have a gradient all the same.`,
  'B30.log': (of, m) =>
    `In ${of('inARow')} entries in a row every group has equal rewards: nothing to learn from${m.learnt ? ', at the highest reward of the run: the task is learnt' : ''}.`,
  'B38.constant': (of) =>
    `The KL is ${of('first')} nats a token from the first entry on and ${of('last')} at the end: this is no drift. Cannot tell: policy and reference are scored differently (B38), or the reference is another model (B51).`,
  'B38.likelihood': (of) =>
    `At step ${of('step')} the policy gives its own completions ${of('policy')} nats, the reference ${of('reference')}. No model is likelier than the one that sampled: the policy is scored in another way than it samples. Dropout in training mode does that.`,
  'B38.log': (of) =>
    `The KL is negative throughout (median ${of('median')} nats a token), which no mean over samples of the policy can be: the policy is scored in another way than it samples. Dropout in training mode does that.`,
  'B39.log': (of) => `Sampler and trainer differ by ${of('median')} nat a token.`,
  'B40.log': (of) =>
    `Nothing was clipped in ${of('entries')} entries, although ${of('updates')} updates are made from each rollout: the ratio seems to stay 1.`,
  'B42.log': (of) =>
    `The entropy coefficient was raised ${of('inARow')} times in a row, from ${of('from')} to ${of('to')}, and the entropy fell each time, from ${of('before')} to ${of('after')} nats a token: the bonus probably has the wrong sign.`,
  'B43.log': (of) =>
    `In ${of('off')} of ${of('entries')} entries the logged loss is not the mean of the micro-steps' (${of('loss')} against ${of('mean')}): it is one micro-step's, and tells nothing.`,
  'B43.loss-log': (of) =>
    `In ${of('off')} of ${of('entries')} entries the loss is far from β × KL, which it must be near to at ratio 1: another loss is logged than the declared one.`,
  'B44.log': (of) =>
    `${of('executed')} micro-steps were executed and the loss was divided by ${of('divisor')} (in ${of('short')} of ${of('entries')} entries): the gradient is too small by what was left out.`,
  'B45.log': (of) => `${of('broken')} values of loss or gradient are no numbers.`,
  'B45.masks': (of) =>
    `No position was masked in ${of('none')} of ${of('entries')} entries: nothing was sampled and nothing is trained, so the loss is 0.`,
  'B45.zero-log': (of, m) =>
    m.gradient === undefined
      ? `The loss is exactly 0 in ${of('zero')} of ${of('entries')} entries. Cannot tell: that is normal at ratio 1, or there was nothing to train on (equal rewards, an empty mask). The gradient norm would tell.`
      : m.gradient
        ? 'The loss is 0 throughout, and there is a gradient: normal at ratio 1, the run can learn.'
        : 'Loss and gradient are 0 throughout: nothing is trained.',
  'B49.explosion': (of) => `The KL explodes in ${of('wild')} entries (median ${of('median')} nats a token).`,
  'B49.log': (of) =>
    `The KL is negative in ${of('negative')} of ${of('entries')} entries, which k3 cannot be.`,
  'B50.control': (of) =>
    `β is ${of('beta')} after a KL of ${of('kl')}; the declared control makes ${of('expected')} of it.`,
  'B50.log': (of) =>
    `β did not move in ${of('stuck')} entries in a row, while the KL stood off its target of ${of('target')} (median ${of('median')}).`,
  'B51.log': (of) =>
    `The KL of step 1 is ${of('kl')} nats a token, before any update. Cannot tell: the reference is another model than training began with (B51), or policy and reference are scored differently (B38). The policy scored twice would tell: different numbers are dropout.`,
  'B52.log': (of, m) => {
    const rate = m.rate === undefined ? '' : ` at learning rate ${of('rate')}`;
    return typeof m.evaluationsAlike === 'number' && m.evaluationsAlike >= 5
      ? `${of('evaluationsAlike')} evaluations in a row, over ${of('steps')} steps, are ${m.value} to the last bit${rate}: the weights do not move. bfloat16 weights without a float32 copy round such updates away.`
      : `${of('rewardsAlike')} rewards in a row are equal to the last bit${rate}: the weights do not seem to move.`;
  },
  'B53.log': (of) =>
    `In ${of('dead')} of ${of('entries')} entries rewards differ within groups and the gradient is 0 all the same.`,
  'B54.clipped': (of, m) =>
    `The gradient is clipped in ${percent(m.share)} of the steps (at ${of('clip')}): the step size is set by the clip.`,
  'B54.conflict': (of) =>
    `The gradients of two kinds of problems point against each other in ${of('inARow')} measurements in a row (cosine down to ${of('least')}): what one learns the other unlearns.`,
  'B54.entropy': (of) => `The entropy fell from ${of('first')} to ${of('last')} nats a token.`,
  'B54.gradient': (of) => `The gradient norm grows to ${of('worst')}, from a usual ${of('usual')}.`,
  'B54.rate': (of) => `The learning rate is 0 in all ${of('entries')} entries.`,
  'B55.log': (of) =>
    `The gap between sampler and trainer grows from ${of('first')} to ${of('last')} nat a token: weights do not arrive.`,
  'B57.log': (of) =>
    `The count of tokens falls ${of('seams')} times: a resumed run began to count, and perhaps its data, anew.`,
  'B58.log': () => 'The training reward rises while the evaluation falls.',
  'B59.metrics': (of) => `${of('broken')} of ${of('entries')} entries contradict themselves.`,
  'B59.monitors': (_, m) =>
    `Two monitors of one step disagree: ${percent(m.one)} and ${percent(m.other)} of the groups have equal rewards. At least one of them counts wrongly.`,
  'B60.slow': (of) => `${of('slow')} steps took more than three times the median of ${of('median')} s.`,
};

/** What gives every completion one reward: a fallback, where the value is no natural one; else it cannot be told. */
function constantCause({ reward, cut }: Parameters<Words>[1]): string {
  const natural = reward === 0 || reward === 1 || reward === -1;
  const isCut = typeof cut === 'number' && cut >= 0.95;
  if (!natural) {
    const also = isCut ? ' All completions are cut off besides.' : '';
    return ` A reward function that falls back to ${written(reward)} does that, for instance when it is handed lists of messages in place of text.${also}`;
  }
  return isCut
    ? ' Cannot tell: a broken reward, or answers that never come because all completions are cut off. A finished, right answer through the reward would tell.'
    : ' Cannot tell: a broken reward, or a task that is too hard or too easy. A good and a bad completion through the reward would tell.';
}
