import { z } from 'zod';
import { ApiError } from './api-error.js';
import type { Handler, Service } from './call.js';
import { readBody, readFields } from './read-body.js';
import { weightFolder } from './weight-folder.js';

/** `GET /v1/models`: the model, and its adapters with their parent. */
export const models: Handler = (service) => ({ object: 'list', data: cardsOf(service) });

/** `GET /v1/models/NAME`: one of them. */
export const modelNamed = (service: Service, id: string): object => {
  const found = cardsOf(service).find((card) => card.id === id);
  if (found) return found;
  throw new ApiError(404, `The model \`${id}\` does not exist.`, { param: 'model' });
};

function cardsOf({ engine, name, folder, started }: Service) {
  const card = (id: string, root: string, parent: string | null) => ({
    id,
    object: 'model',
    created: started,
    owned_by: 'grpo',
    root,
    parent,
    max_model_len: engine.maxModelLen,
  });
  const adapters = [...engine.adapters].map(([id, adapter]) => card(id, adapter.folder, name));
  return [card(name, folder, null), ...adapters];
}

const loading = z.object({
  lora_name: z.string().min(1).max(200),
  lora_path: z.string().min(1),
  load_inplace: z
    .literal(false, 'load each version of an adapter under a name of its own, and unload the old one')
    .nullish(),
});

const unloading = z.object({ lora_name: z.string().min(1) });

/** Loads an adapter. @returns its name */
async function load(service: Service, call: Parameters<Handler>[1]): Promise<string> {
  const { lora_name, lora_path } = readFields(loading, await readBody(call.request));
  const folder = weightFolder(lora_path, service.weightFolders, 'lora_path');
  service.engine.loadAdapter(lora_name, folder);
  service.log(`Adapter ${lora_name} is loaded from ${folder}.`);
  return lora_name;
}

/** Unloads an adapter. @returns its name */
async function unload(service: Service, call: Parameters<Handler>[1]): Promise<string> {
  const { lora_name } = readFields(unloading, await readBody(call.request));
  if (!service.engine.adapters.has(lora_name))
    throw new ApiError(404, `The lora adapter '${lora_name}' cannot be found.`, { param: 'lora_name' });
  service.engine.unloadAdapter(lora_name);
  service.log(`Adapter ${lora_name} is unloaded.`);
  return lora_name;
}

/** `POST /v1/load_lora_adapter`, vLLM's. */
export const loadAdapter: Handler = async (service, call) =>
  `Success: LoRA adapter '${await load(service, call)}' added successfully.`;

/** `POST /v1/unload_lora_adapter`, vLLM's. */
export const unloadAdapter: Handler = async (service, call) =>
  `Success: LoRA adapter '${await unload(service, call)}' removed successfully.`;

const loaded = ({ engine }: Service) => ({
  success: true,
  error_message: null,
  loaded_adapters: Object.fromEntries([...engine.adapters].map(([name, { folder }]) => [name, folder])),
});

/** `POST /load_lora_adapter`, SGLang's. */
export const loadAdapterOfSglang: Handler = async (service, call) => {
  await load(service, call);
  return loaded(service);
};

/** `POST /unload_lora_adapter`, SGLang's. */
export const unloadAdapterOfSglang: Handler = async (service, call) => {
  await unload(service, call);
  return loaded(service);
};
