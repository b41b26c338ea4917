/** The update reaches the weights. */
import { stepCheck } from '../check.js';
import { fail, inform, notApplicable, pass, warn } from '../outcome.js';

export const optimizerChecks = [
  stepCheck({
    code: 'B52.weights',
    title: 'An update with a gradient changes weights',
    stage: 'optimizer',
    kind: 'identity',
    level: 7,
    threshold: 'some element of the master weights changes where learning rate and gradient are above 0',
    source: 'identity',
    remedy: 'Check that the optimizer holds the parameters that are trained, and its learning rate.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    needs: ['firstUpdate'],
    test({ firstUpdate: { changedShare, gradNorm, learningRate } }) {
      if (changedShare === undefined || !(gradNorm! > 0) || !(learningRate! > 0)) {
        return notApplicable('updates.changedShare of an update with gradient and learning rate');
      }
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
    threshold:
      'at least 1 % of the elements of the trained weights change; read from float32 masters where there are any',
    source: 'bfloat16 keeps 8 bits: a change below 1/256 of a weight is rounded away (seed 001, AReaL#1634)',
    remedy: 'Keep float32 master weights, or train in float32, or raise the learning rate.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B58', 'B40'],
    settles: 'The weights before and after ten steps: the share of elements that differ.',
    needs: ['firstUpdate', 'declared'],
    test({ firstUpdate: { changedShare, changedWeightShare, gradNorm, learningRate }, declared }) {
      const share = declared.masterWeights === false ? (changedWeightShare ?? changedShare) : changedShare;
      if (share === undefined || !(gradNorm! > 0) || !(learningRate! > 0)) {
        return notApplicable('updates.changedShare of an update with gradient and learning rate');
      }
      const measured = { share, learningRate: learningRate!, dtype: declared.dtype ?? 'unknown' };
      return share < 0.01 ? warn(measured) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B53.zero',
    title: 'Gradients reach the trainable tensors',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 7,
    threshold: 'at most 5 % of them without a gradient, when there is one at all',
    source: 'trl#3089, trl#2671: checkpointing with frozen inputs',
    remedy: 'Look at which tensors have none: frozen, detached, or not on the way to the loss.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    settles: 'The names of the tensors without a gradient.',
    needs: ['firstUpdate'],
    test({ firstUpdate: { zeroGradients, gradNorm } }) {
      if (zeroGradients === undefined || !(gradNorm! > 0))
        return notApplicable('updates.zeroGradients of an update with a gradient');
      return zeroGradients > 0.05 ? warn({ zeroGradients }) : pass({ zeroGradients });
    },
  }),
  stepCheck({
    code: 'B60.stage',
    title: 'No stage takes nearly all of a step',
    stage: 'performance',
    kind: 'heuristic',
    level: 8,
    threshold: 'at most 80 % of the time',
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
