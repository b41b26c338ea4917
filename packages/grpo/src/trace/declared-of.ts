import type { Config } from '../config/index.js';
import type { Declared } from './declared.js';

/** What a run of ours declares. Reward weights are not in it: a task adds rewards of its own. */
export function declaredOf({ task, rollout, objective, optimizer, dtype }: Config): Declared {
  return {
    groupSize: rollout.group,
    maxNewTokens: rollout.maxNewTokens,
    minNewTokens: rollout.minNewTokens,
    temperature: rollout.temperature,
    topP: rollout.topP,
    topK: rollout.topK,
    minP: rollout.minP,
    repetitionPenalty: rollout.repetitionPenalty,
    presencePenalty: rollout.presencePenalty,
    frequencyPenalty: rollout.frequencyPenalty,
    ...(task.stop && { stop: task.stop }),
    loss: objective.loss,
    beta: objective.beta,
    kl: 'k3',
    clipLow: objective.clipLow,
    clipHigh: objective.clipHigh,
    entropyCoefficient: 0,
    scaleRewards: objective.scaleRewards,
    advantageEpsilon: 1e-4,
    advantageDdof: 1,
    ratioLevel: 'token',
    oldLogprobs: objective.oldLogprobs,
    updatesPerRollout: objective.iterations * objective.minibatches,
    maskTruncated: false,
    learningRate: optimizer.learningRate,
    maxGradNorm: optimizer.maxGradNorm,
    weightDecay: optimizer.weightDecay,
    dtype,
    masterWeights: dtype === 'bfloat16',
    activeDropout: [],
  };
}
