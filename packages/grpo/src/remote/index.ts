export type { ServerAccess, ServerFacts } from './dialect.js';
export { WrongWeightsError } from './inspection.js';
export { type HandOver, PublishedWeights } from './published-weights.js';
export { RemoteSampler, type SamplingRun } from './remote-sampler.js';
export { type PoolOptions, ServerPool } from './server-pool.js';
export { TeacherServer } from './teacher-server.js';
