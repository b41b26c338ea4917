/** What each finding of a step says. */
import { percent, type Words } from './format.js';

export const stepWords: Record<string, Words> = {
  'B01.markup': (of) =>
    `${of('marked')} of ${of('completions')} completions begin with tokens of the chat template.`,
  'B02.prompt': (of) =>
    `${of('different')} of ${of('prompts')} prompts were scored with other token ids than the sampler was given.`,
  'B03.blank': (of) => `${of('blank')} of ${of('completions')} completions are blank.`,
  'B03.header': (of) =>
    `${of('without')} of ${of('prompts')} prompts do not open the assistant's turn: the template puts ${of('header')} before an answer, and the prompt does not end with it. The model goes on with the user's turn, or ends at once.`,
  'B04.bos': (of) => `${of('wrong')} of ${of('prompts')} prompts do not begin with ${of('expected')} BOS.`,
  'B05.date': (of) =>
    `The template puts a date into ${of('dated')} of ${of('prompts')} prompts (${of('line')}): the ids change from day to day.`,
  'B05.system': (of) =>
    `${of('lost')} of ${of('prompts')} prompts lack a message of their conversation: the template left it out.`,
  'B06.closed': (of, m) =>
    `${of('open')} of ${of('completions')} completions open ${m.tag} and not one closes it${m.finish ? ', though none of them ran into the limit of length: the engine stops at' : '. Either the engine stops at'} ${m.end} and drops it${m.finish ? '' : ', or they are cut off before it; the finish reasons would tell'}. A reward that looks for ${m.end} pays nothing.`,
  'B06.stop': (of) =>
    `${of('without')} of the ${of('stopped')} completions that a stop string ended do not contain it: the rewards see text without it.`,
  'B07.ids': (of) =>
    `${of('different')} of ${of('completions')} completions were scored with other token ids than were sampled.`,
  'B08.end': (of) =>
    `In ${of('left')} of the ${of('ended')} completions that ended, the end token is not trained on: the model unlearns to stop.`,
  'B09.prompt': (of) =>
    `${of('atLimit')} of ${of('prompts')} prompts have exactly the ${of('limit')} tokens that are allowed: they were probably cut.`,
  'B10.cut': (of) =>
    `${of('repeating')} of ${of('completions')} completions begin with the end of their prompt.`,
  'B10.length': (of) =>
    `${of('long')} completions have more than the ${of('limit')} tokens allowed (the longest ${of('longest')}).`,
  'B11.mask': (of) =>
    `The loss mask of ${of('wrong')} of ${of('completions')} completions is wrong: tokens of the model left out, or others let in.`,
  'B12.padding': (of) =>
    `Padding and end are one token (${of('pad')}), and in ${of('left')} of the ${of('ended')} completions that ended the mask has lost the end token: the model unlearns to stop.`,
  'B13.alone': (of) =>
    `A completion scored alone and in the batch differs by up to ${of('max')} nats a token.`,
  'B14.beyond': (of) =>
    `${of('beyond')} of ${of('completions')} completions are scored beyond their last token.`,
  'B15.first-token': (of) =>
    `The first token of ${of('moved')} of ${of('completions')} completions was drawn from another distribution than the model's, though nothing had been generated that could be penalised: the penalties see the prompt.`,
  'B16.after-end': (of) => `${of('rambling')} of ${of('completions')} completions go on after an end token.`,
  'B16.cut': (of) => `${of('cut')} of ${of('completions')} completions were cut off at the limit of length.`,
  'B17.draws': (of) =>
    `${of('twins')} completions are equal to another of their prompt, although each is far too unlikely to be drawn twice.`,
  'B17.unique': (of, m) =>
    `Only ${percent(m.uniqueShare)} of a prompt's completions are distinct.${typeof m.entropy === 'number' && m.entropy > 20 ? ` The repeated ones have an entropy of ${of('entropy')} nats, too much to repeat by chance: the sampler is broken.` : m.entropy === undefined ? ' Cannot tell: a policy that has learnt its task, or a broken sampler. The entropy would tell.' : ` With an entropy of ${of('entropy')} nats for a whole completion that is to be expected.`}`,
  'B18.override': (of) =>
    `${of('moved')} of ${of('completions')} completions were drawn from another distribution than declared: neither truncation nor penalties are, and the log-probs before and after them differ. The engine takes settings from elsewhere, generation_config.json for instance.`,
  'B19.surprise': (of, m) =>
    `Tokens are ${m.flatter ? 'less likely' : 'likelier'} than the scoring distribution says, by ${of('meanGap')} nat a token (${of('standardErrors')} standard errors): they were drawn from a ${m.flatter ? 'flatter' : 'sharper'} one. ${m.flatter ? 'Cannot tell: a higher temperature or penalties in sampling (B19, B15), or tokens scored by the wrong logits (B35) or with dropout (B38). The sampler’s own log-probs would tell.' : 'A lower temperature, top-p or top-k in sampling would do that.'}`,
  'B19.temperature': (of) =>
    `Tokens are scored at temperature ${of('declared')} and were drawn at ${of('fits')}: there policy and sampler agree within ${of('gapThere')} nat a token, at the declared one they differ by ${of('meanGap')}.`,
  'B19.truncation': (of) =>
    `Tokens are drawn from another distribution than the one that is trained: ${of('meanGap')} nat a token apart on average.`,
  'B20.constant': (of, m) =>
    `All ${of('completions')} completions, ${of('distinct')} of them different, earned exactly ${of('value')}.${m.inputType === 'messages' ? ' The reward is given lists of messages, not text.' : ''}${m.natural ? ' Cannot tell: a broken reward, or a task that is too hard or too easy. A good and a bad completion through the reward would tell.' : ' A reward function that falls back to a constant does that.'}`,
  'B20.canary': (of) =>
    `All ${of('probes')} canaries earned exactly ${of('value')}: right answers as much as blanks.`,
  'B21.alike': (of) =>
    `${of('unequal')} of ${of('pairs')} completions earned another reward than an equal completion of the same prompt: rewards may belong to other completions.`,
  'B21.canary': (of, m) =>
    `The right answer of another row earned as much as the row’s own, or more, on ${of('wrong')} of ${of('probes')} rows${by(m.rule)}: the reward does not see the row, or sees another.`,
  'B21.totals': (of) =>
    `The reward of ${of('wrong')} of ${of('completions')} completions is not the weighted sum of its parts.`,
  'B22.canary': (of) => `On ${of('wrong')} of ${of('probes')} rows a reward failed on the right answer.`,
  'B22.failures': (of) =>
    `Reward functions failed ${of('failures')} times on ${of('completions')} completions.`,
  'B22.fallback': (of) =>
    `${of('dead')} of ${of('rewards')} rewards mostly have the value that stands for a failure.`,
  'B23.canary': (of) =>
    `${of('wrong')} of ${of('probes')} answers that are known to be right were not graded as right.`,
  'B24.provider': (of) =>
    `In ${of('mixed')} groups more than one judge graded: which one decides the sign of the advantage.`,
  'B26.canary': (of, m) =>
    `${of('wrong')} of ${of('probes')} answers that are known to be worthless earned as much as a right one, or more: ${of('kinds')}${by(m.rule)}.`,
  'B27.gold': (of) =>
    `${of('missed')} of ${of('unrewarded')} completions without reward end in the reference answer.`,
  'B29.advantage': (of) => `${of('wrong')} advantages are no number, or not 0 where there is no reward.`,
  'B30.flat': (of) =>
    `In ${of('flat')} of ${of('groups')} groups all completions earned the same: they teach nothing.`,
  'B31.grouping': () =>
    'The advantages fit groups of every n-th completion, not of one prompt: completions are compared with those of other prompts.',
  'B32.whitening': () =>
    'The advantages were divided by the deviation of the whole batch after they had been centred by group.',
  'B33.leak': (of) =>
    `In ${of('leaking')} of ${of('flat')} groups of equal rewards advantages are not 0: rounding is blown up by a small ε.`,
  'B33.recompute': (of, m) =>
    m.fits === 'not clipped'
      ? `The advantages go up to ±${of('bound')}: they are not clipped as declared.`
      : m.bound !== undefined
        ? `The advantages are clipped at ±${of('bound')}, which is not declared.`
        : m.scale === undefined
          ? 'The advantages do not follow from the rewards in any known way.'
          : `The advantages do not follow as declared; they fit scale ${of('scale')}, ε ${of('epsilon')}, ddof ${of('ddof')}.`,
  'B34.raw': (of) =>
    `${of('completions')} completions have their raw reward as advantage: with one sign for the whole group.`,
  'B34.sum': (of) => `The advantages of ${of('off')} of ${of('groups')} groups do not sum to 0.`,
  'B35.shift': (of) =>
    `Log-probs are ${of('meanGap')} nats off the sampler's, and only ${of('shifted')} when shifted by ${of('by')} token: each token is scored by the wrong logits.`,
  'B36.rows': (of) =>
    `A token has the same log-prob wherever it stands (all of ${of('pairs')} pairs): all are read from one row of logits.`,
  'B37.scored': (of) =>
    `${of('short')} of ${of('completions')} completions have fewer tokens scored than sampled.`,
  'B38.dropout': (of) =>
    `${of('modules')} modules with dropout were in training mode while the policy was scored, the first ${of('first')}.`,
  'B38.policy': (of) =>
    `The reference agrees with the sampler (${of('referenceGap')} nat a token), the policy with the same weights does not (${of('policyGap')}): the policy is scored differently. Dropout in training mode does that.`,
  'B38.repeat': (of) =>
    `Scored twice with the same weights, log-probs differ by up to ${of('max')} (mean ${of('mean')}): dropout, or another source of chance.`,
  'B39.gap': (of) =>
    `Sampler and trainer differ by ${of('mean')} nat a token on average, ${of('max')} at most.`,
  'B40.old': (of) =>
    `The ratio of a token is ${of('ratio')}; from the log-probs of policy and old policy it should be ${of('expected')}: the loss takes other old log-probs.`,
  'B40.ratio': (of, m) =>
    m.detached
      ? `Completions are trained on in ${of('updates')} updates without old log-probs: the ratio is 1 by construction, and nothing is ever clipped.`
      : `After ${of('updates')} updates from one rollout every ratio is still exactly 1: the old log-probs were taken again.`,
  'B41.split': (of) =>
    `The gradient of the update differs by its split into micro-batches: cosine ${of('cosine')}, norms ${of('normRatio')} to 1.`,
  'B41.weights': (of) =>
    `Tokens are not weighted as declared: one has ${of('weight')}, it should be ${of('expected')}.`,
  'B42.sign': (_, m) =>
    m.entropyChange === undefined
      ? 'The entropy bonus raises the loss: its sign is wrong, and the policy is driven to certainty.'
      : 'A tiny step along the loss lowers the entropy, although a bonus is declared: its sign is wrong.',
  'B43.components': (of) => `The parts of the loss sum to ${of('sum')}, the loss is ${of('loss')}.`,
  'B43.terms': (of) => `The weighted terms of the tokens sum to ${of('sum')}, the loss is ${of('loss')}.`,
  'B44.micro-steps': (of) =>
    `${of('executed')} of ${of('configured')} micro-batches of an update were executed, with the divisor of all.`,
  'B45.empty': (of, m) =>
    m.truncated
      ? `All ${of('completions')} completions were cut off, and are masked for it: nothing is left to train on.`
      : `None of the ${of('completions')} completions has a token to train on.`,
  'B45.finite': (of, m) =>
    `Loss or gradient is no number${m.loss === undefined ? '' : ` (loss ${of('loss')})`}.`,
  'B46.padding': (of) =>
    `Every token weighs ${of('weight')}: the loss is divided by ${of('padded')} places, padding included, and not by its ${of('tokens')} tokens.`,
  'B47.policy': (of) =>
    `The policy term of a token is ${of('term')}; from ratio ${of('ratio')} and advantage ${of('advantage')} it should be ${of('expected')}.`,
  'B47.step': (of) =>
    `A tiny step along the policy term changes Σ advantage × log-prob by ${of('change')}: it makes good completions less likely.`,
  'B48.estimator': (of) =>
    `The KL of the tokens is not the declared ${of('estimate')}; it fits ${of('fits')}.`,
  'B48.in-loss': (of) =>
    `The KL in the loss is ${of('estimate')}: on-policy its expected gradient is 0, whatever β (${of('beta')}).`,
  'B49.nonnegative': (of) =>
    `${of('wrong')} of ${of('completions')} completions have a token with a KL that k3 cannot have: negative, or no number.`,
  'B49.share': (of, m) =>
    `The top 1 % of tokens hold ${percent(m.topShare)} of the KL (largest ${of('largest')} nats).`,
  'B51.anchor': (of) =>
    `The reference’s weights changed ${of('changes')} times over ${of('records')} records: it is no anchor.`,
  'B51.start': (of, m) =>
    `On the first step policy and reference differ by ${of('mean')} nat a token. ${m.sampler ? 'Unless another finding says that the policy is scored wrongly, the reference is not the model that training began with.' : 'Cannot tell which is wrong: another reference model (B51), or a policy scored in training mode (B38). The policy scored twice would tell: different numbers are dropout.'}`,
  'B52.lost': (of, m) =>
    `Only ${percent(m.share)} of the weights changed in an update (learning rate ${of('learningRate')}, ${m.dtype})${m.lostShare === undefined ? '' : `; ${percent(m.lostShare)} of those with a gradient did not`}: the rest was rounded away.`,
  'B52.weights': (of) =>
    `No weight changed in an update with gradient norm ${of('gradNorm')} and learning rate ${of('learningRate')}.`,
  'B53.gradient': (_, m) =>
    `Advantages differ from 0, yet the gradient is exactly 0.${m.masked ? ' The mask has tokens with such an advantage: gradients do not reach the parameters.' : ' Cannot tell: no token has mask 1 (B45), or gradients do not reach the parameters (B53). The loss mask would tell.'}`,
  'B53.zero': (_, m) => `${percent(m.zeroGradients)} of the trainable tensors have no gradient.`,
  'B21.cycled': (of) =>
    `The values of ${of('cycled')} of ${of('rewards')} rewards repeat in turn, every ${of('period')}: fewer were computed than there are completions.`,
  'B18.temperature': (of) =>
    `Completions were drawn at temperature ${of('fits')} (${of('gapThere')} nat a token off), declared is ${of('declared')} (${of('gap')}): the engine has settings of its own.`,
  'B19.scoring': (of) =>
    `The trainer scores at temperature ${of('fits')} (${of('gapThere')} nat a token off), declared is ${of('declared')} (${of('gap')}).`,
  'B35.plain': (of) =>
    `A token is scored by the logits ${of('shift')} place away: ${of('gapThere')} nat a token off there, ${of('gap')} at its own.`,
  'B37.broadcast': (of) =>
    `In all of ${of('completions')} completions every token has one and the same log-prob: that of one position, broadcast.`,
  'B16.suppressed': (of) =>
    `A least length of ${of('least')} of ${of('most')} tokens forbids the end: ${of('cut')} of ${of('completions')} completions were cut off.`,
  'B55.stale': (of) =>
    `Sampler and trainer agreed on step 1 (${of('first')} nat a token) and later are ${of('later')} apart: the sampler has other weights than are trained.`,
  'B60.memory': (of, m) =>
    `Memory grows by ${percent(m.aStep)} a step: from ${of('first')} to ${of('last')} bytes over ${of('records')} records.`,
  'B60.stage': (of, m) =>
    `The stage ${of('stage')} takes ${percent(m.share)} of a step of ${of('seconds')} s.`,
};

/** The reward, and the rule by which it decided, where they are known. */
const by = (rule: unknown) => (rule === '' || rule === undefined ? '' : ` (${rule})`);
