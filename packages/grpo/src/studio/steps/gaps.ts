/** Log-prob of the policy that sampled, by the trainer's pass less the sampler's: 0 where both compute the same. */
import { inputs, membersOf, replayedOf } from '../../doctor/inputs.js';
import { once } from '../../doctor/once.js';
import type { StepRecord } from '../../trace/index.js';

/**
 * By completion, in nats; undefined where the two are not of one policy: for a group that an earlier step sampled, tokens
 * that were scored otherwise than they were sampled, and a completion that is first scored after an update.
 */
export const gapsOf = once((record: StepRecord): readonly (Float32Array | undefined)[] => {
  const sampler = inputs.comparableLogprobs.from(record) ?? [];
  const scored = inputs.firstPolicyLogprobs.from(record);
  const isReplayed = replayedOf(record);
  const [first] = record.updates ?? [];
  const before = new Map(first && scored ? membersOf(record, first).map((b, i) => [b, scored[i]!]) : []);
  // Old log-probs may be the sampler's own.
  const old =
    record.declared?.objective?.oldLogprobs === 'sampler' ? undefined : inputs.oldLogprobs.from(record);
  return sampler.map((own, b) => {
    const policy = before.get(b) ?? old?.[b];
    if (!policy || policy.length !== own.length || isReplayed(b)) return undefined;
    return policy.map((value, t) => value - own[t]!);
  });
});
