export {
  type Completion,
  type FinishReason,
  plainSampling,
  type Region,
  type SamplingOptions,
} from './completion.js';
export type { GroupRequest } from './completion-requests.js';
export { denoisingSizes } from './denoising-schedule.js';
export { sample } from './sampler.js';
export { memoryNews, withinMemory } from './within-memory.js';
