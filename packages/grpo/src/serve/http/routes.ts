import type { Handler } from './call.js';
import { chat } from './chat.js';
import { completions } from './completions.js';
import { health, metrics, modelInfo, serverInfo, serverInfoOfSglang, serverVersion } from './facts.js';
import { loadAdapter, loadAdapterOfSglang, models, unloadAdapter, unloadAdapterOfSglang } from './models.js';
import { generateTokens } from './scale-out/generate-tokens.js';
import { generateOfSglang } from './sglang-generate.js';
import { detokenize, tokenize } from './tokenize.js';
import {
  continueGeneration,
  flushCache,
  isPaused,
  pause,
  pauseGeneration,
  resetPrefixCache,
  resume,
  updateWeights,
  weightChecker,
  weightInfo,
} from './weights.js';

type Route = Partial<Record<'GET' | 'POST', Handler>>;

/** Every call that is answered: vLLM's, with OpenAI's among them, then SGLang's. */
export const routes: Readonly<Record<string, Route>> = {
  '/health': { GET: health },
  '/version': { GET: serverVersion },
  '/server_info': { GET: serverInfo },
  '/metrics': { GET: metrics },
  '/v1/models': { GET: models },
  '/v1/completions': { POST: completions },
  '/v1/chat/completions': { POST: chat },
  '/inference/v1/generate': { POST: generateTokens },
  '/tokenize': { POST: tokenize },
  '/detokenize': { POST: detokenize },
  '/v1/load_lora_adapter': { POST: loadAdapter },
  '/v1/unload_lora_adapter': { POST: unloadAdapter },
  '/reset_prefix_cache': { POST: resetPrefixCache },
  '/pause': { POST: pause },
  '/resume': { POST: resume },
  '/is_paused': { GET: isPaused },
  '/weight_info': { GET: weightInfo },
  '/weight_checker': { POST: weightChecker },

  '/generate': { POST: generateOfSglang },
  '/get_model_info': { GET: modelInfo },
  '/get_server_info': { GET: serverInfoOfSglang },
  '/load_lora_adapter': { POST: loadAdapterOfSglang },
  '/unload_lora_adapter': { POST: unloadAdapterOfSglang },
  '/update_weights_from_disk': { POST: updateWeights },
  '/flush_cache': { GET: flushCache, POST: flushCache },
  '/pause_generation': { POST: pauseGeneration },
  '/continue_generation': { POST: continueGeneration },
};

/** Calls that need no key: a health check has none. */
export const OPEN: ReadonlySet<string> = new Set(['/health']);
