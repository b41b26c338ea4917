import type { Comparison } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { bothLogProbs, handOverCheck, isApart, OF_HAND_OVERS } from '../hand-over.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

const info = {
  stage: 'configuration',
  level: 1,
  proofs: ['native'],
} as const;

const audited = handOverCheck({
  ...info,
  code: 'H15',
  handOver: 'model',
  title: 'The model in memory is that of its folder',
  wrong: 'The model in memory is not that of its folder',
  why: 'It follows from the files of the folder alone, read by code that shares nothing with what loads them.',
  remedy:
    'Look at what reads the folder: names and number type of the tensors, the ids that end a completion, the template, the tokens, the factor and the layers of the adapters, the base of the rotary embedding and the type of its positions.',
});

/** Whether two comparisons are of one token, and found the same number. */
const areOne = (one: Comparison, other: Comparison): boolean =>
  one.completion === other.completion &&
  one.token === other.token &&
  Math.abs(Number(one.found) - Number(other.found)) <= one.bound + other.bound;

/** Where sampler and trainer agree with each other, what both of them do is what is wrong. */
const shared = stepCheck({
  ...OF_HAND_OVERS,
  ...info,
  code: 'H15.shared',
  title: 'The forward pass that sampler and trainer share is that of the model',
  rank: 101,
  threshold:
    'not both of the log-probs by sampler and trainer lie beyond their bounds, furthest at the same token, and agree with each other within these bounds',
  remedy:
    'Look at the forward pass itself: its norms and their ε, the rotary base, activations, scales and caps, biases, tied weights, the factor of adapters; then at a temperature that both apply. Where a layer is named below, at that one.',
  induces: ['H02', 'H05', 'H06', 'H07', 'H12', 'H14', 'B19', 'B39'],
  needs: ['audit'],
  test({ audit }) {
    const both = bothLogProbs(audit);
    if (!both) return notApplicable('log-probs by sampler and trainer');
    const { sampled, trained, measured, evidence } = both;
    const isShared = isApart(sampled) && isApart(trained) && areOne(sampled, trained);
    return isShared ? fail(measured, evidence) : pass(measured);
  },
  says: ({ found, plain }) =>
    say`Sampler and trainer agree on the log-prob of a token, ${found}, and a second, plain computation from the folder of the model gives ${plain}: the forward pass or the weights that both share are not those of the model.`,
});

export const h15: Fault = { ...audited, checks: [...audited.checks, shared] };
