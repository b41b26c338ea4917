import { LEFT_WEIGHT } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { comparisonOf, handOverCheck, isApart, OF_HAND_OVERS } from '../hand-over.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

const audited = handOverCheck({
  code: 'H08',
  handOver: 'weights',
  title: 'Sampler and reference use the weights that they should',
  wrong: 'Sampler or reference do not use the weights that they should',
  stage: 'weight sync',
  level: 1,
  remedy:
    'Look at what copies weights to the sampler, at what may change the reference, and at what loads or averages weights between two steps.',
  proofs: ['native'],
});

/** Holds single weights, where a trainer has them: they say more than their sum. */
const changed = stepCheck({
  ...OF_HAND_OVERS,
  code: 'H08.changed',
  title: 'Nothing but an update changes the weights',
  stage: 'weight sync',
  level: 1,
  rank: 2,
  threshold: 'each weight that is compared is what the update before left, to the bit',
  remedy:
    'Look at callbacks and overrides that write to parameters: what clamps, averages, loads, merges or casts weights between two steps.',
  induces: ['H08'],
  proofs: ['TRL run'],
  needs: ['audit'],
  test({ audit }) {
    const own = comparisonOf(audit, LEFT_WEIGHT);
    if (!own) return notApplicable(LEFT_WEIGHT);
    const measured = { tensor: own.tensor ?? '', is: own.found, was: own.plain, compared: own.compared };
    return isApart(own) ? fail(measured, [{ text: measured.tensor }]) : pass(measured);
  },
  says: ({ tensor, is, was }) =>
    say`Something else than the optimizer has changed the weights since the update before: a number of ${tensor} was ${was}, and is ${is}.`,
});

export const h08: Fault = { ...audited, checks: [...audited.checks, changed] };
