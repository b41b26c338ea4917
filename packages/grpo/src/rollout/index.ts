export {
  type Completion,
  type FinishReason,
  plainSampling,
  type Region,
  type SamplingOptions,
} from './completion.js';
export type { CompletionRequest, GroupRequest } from './completion-requests.js';
export { Decoding } from './decoding.js';
export type { DecodingRow } from './decoding-row.js';
export { denoisingSizes } from './denoising-schedule.js';
export { isAdjusted, refuseImpossible, sample } from './sampler.js';
export { memoryNews, withinMemory } from './within-memory.js';
