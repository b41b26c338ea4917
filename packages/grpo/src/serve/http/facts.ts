import { packageVersion } from '../../config/version.js';
import type { Handler, Service } from './call.js';

export const health: Handler = () => '';

/** `GET /version`, and who answers: a trainer can tell this server from vLLM's own. */
export const serverVersion: Handler = () => ({ version: packageVersion(), engine: 'grpo' });

const dtypeOf = ({ engine }: Service) => engine.model.decoder.dtype;

/** `GET /server_info`: the settings of vLLM's that clients look at, nested as there; ours beside them. */
export const serverInfo: Handler = (service) => {
  const { engine, name, folder, tokenizerFingerprint } = service;
  const { decoder } = engine.model;
  return {
    vllm_config: {
      model_config: {
        model: folder,
        served_model_name: name,
        dtype: dtypeOf(service),
        max_model_len: engine.maxModelLen,
        logprobs_mode: 'processed_logprobs',
        vocab_size: decoder.config.vocabSize,
      },
    },
    device: decoder.device,
    tokenizer_fingerprint: tokenizerFingerprint,
    weight_version: engine.weightVersion,
  };
};

/** `GET /get_model_info`, SGLang's. */
export const modelInfo: Handler = ({ engine, name, tokenizerFingerprint }) => ({
  model_path: name,
  tokenizer_path: name,
  is_generation: true,
  weight_version: engine.weightVersion,
  vocab_size: engine.model.decoder.config.vocabSize,
  tokenizer_fingerprint: tokenizerFingerprint,
});

/** `GET /get_server_info`, SGLang's. */
export const serverInfoOfSglang: Handler = (service) => ({
  version: packageVersion(),
  engine: 'grpo',
  model_path: service.name,
  context_length: service.engine.maxModelLen,
  dtype: dtypeOf(service),
});

/** `GET /metrics`: the numbers of vLLM's that its users look at first, in Prometheus' form. */
export const metrics: Handler = ({ engine, name }) => {
  const { running, waiting, tokens } = engine.load;
  const labels = `{model_name="${name.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"}`;
  const metric = (metricName: string, type: string, help: string, value: number) =>
    `# HELP ${metricName} ${help}\n# TYPE ${metricName} ${type}\n${metricName}${labels} ${value}\n`;
  return [
    metric('vllm:num_requests_running', 'gauge', 'Completions that grow.', running),
    metric('vllm:num_requests_waiting', 'gauge', 'Completions that wait.', waiting),
    metric('vllm:generation_tokens_total', 'counter', 'Tokens drawn since the start.', tokens),
  ].join('');
};
