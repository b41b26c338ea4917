export type { Connection } from './connection.js';
export {
  type FetchedRepository,
  type FetchRequest,
  type FetchWatcher,
  fetchRepository,
  type JudgeModel,
} from './fetch-repository.js';
export { hubCache, hubEndpoint, hubToken } from './hub-settings.js';
export type { RemoteFile } from './listing.js';
export { modelFolder, pinModel } from './model-folder.js';
export { fetchCommand, isRevision, MAIN, parseReference, type Repository } from './repository.js';
