import { z } from 'zod';
import { ApiError } from './api-error.js';
import type { Handler } from './call.js';
import { readBody, readFields } from './read-body.js';
import { weightFolder } from './weight-folder.js';

const pausing = z.enum(['abort', 'wait', 'keep']);

/** `POST /pause?mode=abort|wait|keep`. Requests that come while the server pauses wait for `/resume`. */
export const pause: Handler = async ({ engine, log }, { query }) => {
  const { data: mode, error } = pausing.safeParse(query.get('mode') ?? 'abort');
  if (error) throw new ApiError(400, 'mode: abort, wait or keep', { param: 'mode' });
  await engine.pause(mode);
  log(`Paused (${mode}): requests wait for /resume.`);
  return { status: 'paused' };
};

/** `POST /resume`. */
export const resume: Handler = ({ engine, log }) => {
  engine.resume();
  log('Resumed.');
  return { status: 'resumed' };
};

export const isPaused: Handler = ({ engine }) => ({ is_paused: engine.isPaused });

export const weightInfo: Handler = ({ engine }) => ({ weight_version: engine.weightVersion });

const checking = z.object({
  action: z.literal('checksum', 'checksum is the only action here; compare checksums where the baseline is'),
});

/** `POST /weight_checker`: one checksum of all weights of the model, and of each adapter with them. */
export const weightChecker: Handler = async ({ engine, name }, { request }) => {
  readFields(checking, await readBody(request));
  if (engine.isPaused)
    throw new ApiError(409, 'The server is paused, and its weights may be changing: resume it first.');
  const adapters = [...engine.adapters].map(([adapter, { checksum }]) => [adapter, checksum]);
  return { checksums: { [name]: engine.checksum(), ...Object.fromEntries(adapters) } };
};

/** `POST /reset_prefix_cache`. No request is answered from what another one has cached. */
export const resetPrefixCache: Handler = () => ({ success: true });

/** `POST /flush_cache`, SGLang's. */
export const flushCache: Handler = () => 'Cache flushed.\n';

const updating = z.object({
  model_path: z.string().min(1),
  weight_version: z.string().min(1).max(200).nullish(),
  abort_all_requests: z.boolean().nullish(),
  load_format: z.enum(['auto', 'safetensors'], 'weights are read from safetensors only').nullish(),
});

/** `POST /update_weights_from_disk`, SGLang's: the weights of a folder in place of the model's. */
export const updateWeights: Handler = async (service, { request }) => {
  const { engine, weightFolders, log } = service;
  const asked = readFields(updating, await readBody(request));
  const folder = weightFolder(asked.model_path, weightFolders, 'model_path');
  const version = asked.weight_version ?? String(Date.now());
  await engine.updateWeights(folder, version, asked.abort_all_requests ? 'abort' : 'finish');
  log(`Weights ${version} are loaded from ${folder}.`);
  return { success: true, message: `Weights ${version} are loaded.`, num_paused_requests: 0 };
};

const modes = { abort: 'abort', retract: 'keep', in_place: 'keep' } as const;

const pausingOfSglang = z.object({
  mode: z
    .enum(['abort', 'retract', 'in_place'])
    .nullish()
    .transform((mode) => mode ?? 'abort'),
});

/** `POST /pause_generation`, SGLang's. */
export const pauseGeneration: Handler = async ({ engine, log }, { request }) => {
  const { mode } = readFields(pausingOfSglang, await readBody(request));
  await engine.pause(modes[mode]);
  log(`Paused (${mode}): requests wait for /continue_generation.`);
  return { message: 'Generation paused successfully.', status: 'ok' };
};

/** `POST /continue_generation`, SGLang's. */
export const continueGeneration: Handler = ({ engine, log }) => {
  engine.resume();
  log('Resumed.');
  return { message: 'Generation continued successfully.', status: 'ok' };
};
