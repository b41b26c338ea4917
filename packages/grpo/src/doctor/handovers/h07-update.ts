import { HELD_TENSOR } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { comparisonOf, handOverCheck, isApart, OF_HAND_OVERS } from '../hand-over.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

const audited = handOverCheck({
  code: 'H07',
  handOver: 'update',
  title: 'The optimizer does what its settings say',
  wrong: 'The weights did not change as the declared optimizer changes them',
  stage: 'optimizer',
  level: 7,
  remedy:
    'Look at learning rate, clipping, weight decay, moments, what is kept in float32 beside half precision, what changes gradients after clipping or the optimizer’s state between updates, and the list of tensors that the optimizer holds and saves.',
  proofs: ['native', 'TRL run'],
});

/** A tensor in no optimizer keeps its gradient, too: the cause of several findings. */
const held = stepCheck({
  ...OF_HAND_OVERS,
  code: 'H07.held',
  title: 'The optimizer holds what is to be trained, and nothing else',
  // It does not depend on the stage that updates.
  stage: 'configuration',
  level: 6,
  rank: 1,
  threshold: 'each tensor that the model trains is in the optimizer, once and itself, and no other is',
  remedy:
    'Print the names of the parameters that are given to the optimizer beside those that require a gradient, and what it saves of each.',
  induces: ['H07', 'H06', 'H12', 'B52', 'B53'],
  proofs: ['native'],
  needs: ['audit'],
  test({ audit }) {
    const own = comparisonOf(audit, HELD_TENSOR);
    if (!own) return notApplicable(HELD_TENSOR);
    const measured = { tensor: own.tensor ?? '', is: String(own.found) };
    return isApart(own) ? fail(measured, [{ text: measured.tensor }]) : pass(measured);
  },
  says: ({ tensor, is }) =>
    is === 'missing'
      ? say`The tensor ${tensor} is to be trained and is not in the optimizer, as it names and saves what it holds.`
      : say`The tensor ${tensor} of the optimizer is ${is}: it should be the one that the model trains.`,
});

export const h07: Fault = { ...audited, checks: [...audited.checks, held] };
