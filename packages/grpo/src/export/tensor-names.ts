import type { LayerNames, ModelNames } from '../models/parameters.js';

type Pair = [to: string, from: string | undefined];

/** The names of a layer's tensors in GGUF, after `blk.N.`, with those in the checkpoint. */
function layerNames(layer: LayerNames): Pair[] {
  const [qkv, gateUp] = [layer.qkv, layer.gateUp];
  const qkvNames = qkv.length === 1 ? ['attn_qkv'] : ['attn_q', 'attn_k', 'attn_v'];
  // Joined, they have the name of the second.
  const gateUpNames = gateUp.length === 1 ? ['ffn_up'] : ['ffn_gate', 'ffn_up'];
  return [
    ['attn_norm', layer.attentionNorm],
    ['post_attention_norm', layer.attentionAfterNorm],
    ...qkvNames.map((name, i): Pair => [name, qkv[i]]),
    ['attn_q_norm', layer.queryNorm],
    ['attn_k_norm', layer.keyNorm],
    ['attn_output', layer.output],
    ['ffn_norm', layer.mlpNorm],
    ['post_ffw_norm', layer.mlpAfterNorm],
    ...gateUpNames.map((name, i): Pair => [name, gateUp[i]]),
    ['ffn_down', layer.down],
  ];
}

/** Names in GGUF by names in the checkpoint, both without `.weight` or `.bias`. */
export function ggufNames(names: ModelNames, layers: number): Map<string, string> {
  const pairs: Pair[] = [
    ['token_embd', names.embedding],
    ['position_embd', names.positions],
    ['output_norm', names.finalNorm],
    ['output', names.head],
  ];
  for (let i = 0; i < layers; i++)
    pairs.push(...layerNames(names.layer(i)).map(([to, from]): Pair => [`blk.${i}.${to}`, from]));
  return new Map(pairs.flatMap(([to, from]) => (from ? [[from, to]] : [])));
}
