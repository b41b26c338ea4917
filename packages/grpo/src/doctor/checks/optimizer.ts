/** The update reaches the weights. */
import { stepCheck } from '../check.js';
import { inputs, membersOf, replayedOf, updateRows } from '../inputs.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';

/** Share of the elements with a gradient that may stay: measured on clean runs at below 0.01. */
const MOST_LOST = 0.5;

/** Share of elements that an update changes. In float32 what has a gradient changes; many embeddings have none. */
const LEAST_CHANGED = { half: 0.1, full: 0.01 };

/** Below it an update is less than half a unit in the last place even of float32: the end of a schedule. */
const LEAST_RATE = 1e-8;

export const optimizerChecks = [
  stepCheck({
    code: 'B53.gradient',
    title: 'Advantages that differ from 0 give a gradient',
    stage: 'optimizer',
    kind: 'identity',
    level: 7,
    threshold:
      'gradient norm above 0 at the first update where some token with mask 1 has an advantage other than 0, and a policy term where these are known; groups replayed from earlier steps may be clipped, and aside',
    source: 'identity; trl#3089, trl#2671. A loss of 0 alone is normal at ratio 1 (trl#2703, trl#3452)',
    remedy:
      'Check that log-probs carry gradients: checkpointing with frozen inputs, detached outputs, frozen parameters.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B52'],
    needs: ['firstUpdate', 'advantages'],
    test({ firstUpdate, advantages }, record) {
      const { gradNorm, loss } = firstUpdate;
      if (gradNorm === undefined) return notApplicable('updates.gradNorm');
      const masks = inputs.masks.from(record);
      const terms = updateRows(record, firstUpdate, 'policyTerms');
      const replayed = replayedOf(record);
      const taught = membersOf(record, firstUpdate).some(
        // Of equal rewards rounding alone may be left.
        (b, row) =>
          Math.abs(advantages[b]!) > 0.01 &&
          !replayed(b) &&
          (masks?.[b]?.some((value, t) => value !== 0 && terms?.[row]?.[t] !== 0) ?? true),
      );
      if (!taught) return notApplicable('a token with mask 1 and an advantage other than 0');
      const measured = { gradNorm, ...(loss !== undefined && { loss }), masked: masks !== undefined };
      return gradNorm === 0 ? fail(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B52.weights',
    title: 'An update with a gradient changes weights',
    stage: 'optimizer',
    kind: 'identity',
    level: 7,
    threshold:
      'some element of the master weights changes, where there is a gradient and the learning rate is at least 1e-8',
    source: 'identity',
    remedy: 'Check that the optimizer holds the parameters that are trained, and its learning rate.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    needs: ['firstUpdate'],
    test({ firstUpdate: { changedShare, gradNorm, learningRate } }) {
      if (changedShare === undefined || !isUpdate(gradNorm, learningRate)) return notApplicable(AN_UPDATE);
      const measured = { changedShare, gradNorm: gradNorm!, learningRate: learningRate! };
      return changedShare === 0 ? fail(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B52.lost',
    title: 'Updates are not rounded away',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 7,
    threshold: `at least ${100 * LEAST_CHANGED.half} % of the elements of half-precision weights without float32 masters change, ${100 * LEAST_CHANGED.full} % of all others; of those with a gradient half, where that is known; read from the masters where there are any`,
    source:
      'bfloat16 keeps 8 bits: a change below 1/256 of a weight is rounded away (seed 001, AReaL#1634); measured on TRL runs with Adam: 0.6 % at a learning rate of 1e-6, 5 % at 1e-5, 36 % at 1e-4, and 83 % in float32 at each of them',
    remedy: 'Keep float32 master weights, or train in float32, or raise the learning rate.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B58'],
    settles: 'The weights before and after ten steps: the share of elements that differ.',
    needs: ['firstUpdate', 'declared'],
    test({ firstUpdate: { changedShare, changedWeightShare, lostShare, gradNorm, learningRate }, declared }) {
      const share = declared.masterWeights === false ? (changedWeightShare ?? changedShare) : changedShare;
      if (share === undefined || !isUpdate(gradNorm, learningRate)) return notApplicable(AN_UPDATE);
      const measured = {
        share,
        learningRate: learningRate!,
        dtype: declared.dtype ?? 'unknown',
        ...(lostShare !== undefined && { lostShare }),
      };
      const half = declared.masterWeights === false && /16$/.test(declared.dtype ?? '');
      const least = half ? LEAST_CHANGED.half : LEAST_CHANGED.full;
      return share < least || (lostShare ?? 0) > MOST_LOST ? warn(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B53.zero',
    title: 'Gradients reach the trainable tensors',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 7,
    threshold:
      'at most 5 % of them without a gradient, when there is one at all; on step 1 up to half only inform: adapters begin so',
    source: 'trl#3089, trl#2671: checkpointing with frozen inputs',
    remedy: 'Look at which tensors have none: frozen, detached, or not on the way to the loss.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    settles: 'The names of the tensors without a gradient.',
    needs: ['firstUpdate'],
    test({ firstUpdate: { zeroGradients, gradNorm } }, record) {
      if (zeroGradients === undefined || !(gradNorm! > 0))
        return notApplicable('updates.zeroGradients of an update with a gradient');
      // A fresh adapter's first matrices have no gradient until its second ones have left 0.
      const fresh = record.step <= 1 && zeroGradients <= 0.5;
      if (zeroGradients <= 0.05) return pass({ zeroGradients });
      return fresh ? inform({ zeroGradients }) : warn({ zeroGradients });
    },
  }),
  stepCheck({
    code: 'B60.stage',
    title: 'No stage takes nearly all of a step',
    stage: 'performance',
    kind: 'heuristic',
    level: 8,
    threshold: 'at most 80 % of a step of more than a second',
    source: 'seed 003; proposal',
    remedy: 'Look at that stage first when a step is too slow.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'A profile of the stage.',
    needs: ['stages'],
    test({ stages }) {
      const total = stages.reduce((seconds, stage) => seconds + stage.seconds, 0);
      if (total === 0) return notApplicable('stages with times');
      const longest = stages.reduce((a, b) => (b.seconds > a.seconds ? b : a));
      const measured = { stage: longest.name, share: longest.seconds / total, seconds: total };
      return measured.share > 0.8 && total > 1 ? inform(measured) : pass(measured);
    },
  }),
];

const AN_UPDATE = 'updates.changedShare of an update with a gradient and a learning rate of 1e-8 or more';

/** A gradient that is not finite is skipped, as in float16. */
const isUpdate = (gradNorm = 0, learningRate = 0) =>
  gradNorm > 0 && Number.isFinite(gradNorm) && learningRate >= LEAST_RATE;
