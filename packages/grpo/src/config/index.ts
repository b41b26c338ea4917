export { UsageError, UserError } from '../errors/user-error.js';
export type { ConfigCommand } from './command-keys.js';
export {
  type Circumstances,
  type ConfigRecord,
  changedCircumstances,
  configRecord,
  readRecord,
  recordLayer,
} from './config-record.js';
export type { InCode } from './in-code.js';
export { type Layer, objectLayer } from './layers/layer.js';
export { requireModelKind } from './model-kind.js';
export { type ConfigSources, isGiven, type ResolvedConfig, resolveConfig } from './resolve.js';
export { rewardName } from './reward-kinds.js';
export { requireSameRun } from './same-run.js';
export { type Config, type ConfigInput, configSchema, type RewardEntry } from './schema.js';
