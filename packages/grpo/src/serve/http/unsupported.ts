import { ApiError } from './api-error.js';

type Asks = (value: unknown) => boolean;

const isThere: Asks = () => true;
const isTrue: Asks = (value) => value !== false;
const isFilled: Asks = (value) => typeof value !== 'object' || Object.keys(value as object).length > 0;
const isBeside =
  (...neutral: readonly unknown[]): Asks =>
  (value) =>
    !neutral.includes(value);

/** Fields of OpenAI's and vLLM's requests that would change the answer and that are not followed, with what asks for it. */
const UNSUPPORTED: Readonly<Record<string, Asks>> = {
  best_of: isBeside(1),
  use_beam_search: isTrue,
  length_penalty: isBeside(1),
  suffix: isBeside(''),
  logit_bias: isFilled,
  allowed_token_ids: isThere,
  bad_words: isFilled,
  logprob_token_ids: isThere,
  ignore_eos: isTrue,
  truncate_prompt_tokens: isThere,
  prompt_embeds: isThere,
  response_format: (value) => (value as { type?: unknown }).type !== 'text',
  structured_outputs: isThere,
  guided_json: isThere,
  guided_regex: isThere,
  guided_choice: isThere,
  guided_grammar: isThere,
  repetition_detection: isThere,
  thinking_token_budget: isBeside(-1),
  watermarking: isTrue,
  kv_transfer_params: isThere,
  ec_transfer_params: isThere,
  priority: isBeside(0),
  top_logprobs: isBeside(0),
  tools: isFilled,
  tool_choice: isBeside('none', 'auto'),
  functions: isFilled,
  function_call: isBeside('none', 'auto'),
  modalities: (value) => JSON.stringify(value) !== '["text"]',
  audio: isThere,
  prediction: isThere,
  reasoning_effort: isThere,
  web_search_options: isThere,
  documents: isFilled,
  chat_template: isThere,
  continue_final_message: isTrue,
  add_generation_prompt: isBeside(true),
  mm_processor_kwargs: isFilled,
};

/** @throws ApiError, which names a field that asks for something that is not done here */
export function refuseUnsupported(body: Record<string, unknown>): void {
  const param = Object.keys(UNSUPPORTED).find(
    (name) => body[name] !== undefined && body[name] !== null && UNSUPPORTED[name]!(body[name]),
  );
  if (param !== undefined)
    throw new ApiError(400, `${param}=${JSON.stringify(body[param])?.slice(0, 80)} is not supported here.`, {
      param,
    });
}
