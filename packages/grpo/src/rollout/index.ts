export {
  type Completion,
  type FinishReason,
  plainSampling,
  type Region,
  type SamplingOptions,
} from './completion.js';
export { type GroupRequest, sample } from './sampler.js';
export { memoryNews, withinMemory } from './within-memory.js';
