import type { Config } from '../config/index.js';
import { hasTeacher } from '../config/sections/teacher.js';
import type { Declared } from './declared.js';

/** What a run of ours declares. Reward weights are not in it: a task adds rewards of its own. */
export function declaredOf(config: Config): Declared {
  const { task, rollout, objective, advantage, kl, teacher, entropy, correction, optimizer, lora, dtype } =
    config;
  return {
    rollout,
    objective: objective.module === undefined ? objective : withoutForm(objective),
    advantage,
    kl,
    ...(hasTeacher(config) && { teacher }),
    entropy,
    correction,
    optimizer,
    ...(lora.rank > 0 && { lora }),
    dtype,
    masterWeights: dtype === 'bfloat16',
    ...(task.stop && { stop: task.stop }),
    updatesPerRollout: objective.iterations * objective.minibatches,
    activeDropout: [],
    ...(objective.module !== undefined && { ownStages: ['objective'] }),
  };
}

/** A loss of one's own is composed as it likes. */
function withoutForm(objective: Config['objective']): NonNullable<Declared['objective']> {
  const { loss, policy, ratio, aggregation, normalizer, ...others } = objective;
  return others;
}
