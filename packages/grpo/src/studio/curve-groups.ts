/** The group and the unit of a metric, by its name. */
import type { CurveGroup } from './requests.js';

const GROUPS: readonly (readonly [CurveGroup, RegExp])[] = [
  ['evaluation', /^eval_/],
  ['time', /^(step_time|seconds\/|reward_seconds\/|judge\/|tokens_per_second)/],
  ['reward parts', /^rewards\/|^reward\//],
  ['reward', /^(reward|frac_reward|groups_|identical_groups|skipped\/|signal|advantage)/],
  ['length', /^completions\/|_tokens$/],
  ['policy', /^(kl|entropy|clip_ratio|sampling\/|ratio|sequence_logprob|beta|masked_positions|policy_)/],
  ['gradient', /^(grad|loss|policy_loss|learning_rate|aux_loss|micro_steps)/],
];

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/^(step_time$|seconds\/|reward_seconds\/)/, 's'],
  [/^tokens_per_second$/, 'tokens/s'],
  [/bytes$/, 'bytes'],
  [/(clipped_ratio|\/share)(\/|$)|^(frac_|clip_ratio\/)/, 'share'],
  [/^completions\/|_tokens$/, 'tokens'],
  [/^(kl|entropy)(\/|$)|^sampling\/sampling_logp_difference\//, 'nats per token'],
];

export const groupOf = (name: string): CurveGroup =>
  GROUPS.find(([, pattern]) => pattern.test(name))?.[0] ?? 'other';

export const unitOf = (name: string): string | undefined =>
  UNITS.find(([pattern]) => pattern.test(name))?.[1];
