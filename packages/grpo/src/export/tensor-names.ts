import type { LayerNames, ModelNames } from '../models/parameters.js';

/** The names of a layer's tensors in GGUF, after `blk.N.`, by their names in the checkpoint. */
function layerNames(layer: LayerNames): [string, string | undefined][] {
  const qkv = layer.qkv.length === 1 ? ['attn_qkv'] : ['attn_q', 'attn_k', 'attn_v'];
  return [
    ['attn_norm', layer.attentionNorm],
    ...qkv.map((name, i): [string, string | undefined] => [name, layer.qkv[i]]),
    ['attn_q_norm', layer.queryNorm],
    ['attn_k_norm', layer.keyNorm],
    ['attn_output', layer.output],
    ['ffn_norm', layer.mlpNorm],
    ['ffn_gate', layer.gate],
    ['ffn_up', layer.up],
    ['ffn_down', layer.down],
  ];
}

/** Names in GGUF by names in the checkpoint, both without `.weight` or `.bias`. */
export function ggufNames(names: ModelNames, layers: number): Map<string, string> {
  const pairs: [string, string | undefined][] = [
    ['token_embd', names.embedding],
    ['position_embd', names.positions],
    ['output_norm', names.finalNorm],
    ['output', names.head],
  ];
  for (let i = 0; i < layers; i++)
    pairs.push(
      ...layerNames(names.layer(i)).map(([to, from]): [string, string | undefined] => [
        `blk.${i}.${to}`,
        from,
      ]),
    );
  return new Map(pairs.flatMap(([to, from]) => (from ? [[from, to]] : [])));
}
