import { type Tensor, tidy } from '@grpo/torch';
import type { GgufTensor, GgufTensorType } from '../formats/gguf-writer.js';
import {
  type DecoderConfig,
  namesOf,
  type ParameterFile,
  parameterSpecs,
  type UnloadedModel,
} from '../models/index.js';
import type { Architecture } from './architectures.js';
import { encodeTensor, Q8_BLOCK } from './encode-tensor.js';
import type { ExportType } from './export-types.js';
import { ggufNames } from './tensor-names.js';

/** A model's tensors, and how they are written. */
export interface TensorSource {
  config: DecoderConfig;
  weights: ParameterFile;
  lora: UnloadedModel['lora'];
  architecture: Architecture;
  type: ExportType;
  /** Sees each weight that an adapter was added to, float32, as a model folder has it. */
  summed?: ((name: string, sum: Tensor) => void) | undefined;
}

const MATRIX_TYPES = { f32: 'F32', f16: 'F16', bf16: 'BF16', q8_0: 'Q8_0' } as const;

/** The tensors of a model as GGUF has them, each of which is read, adapted and encoded when its turn comes. */
export function ggufTensors(source: TensorSource): GgufTensor[] {
  const { config, architecture, type } = source;
  const names = namesOf(config);
  const renamed = ggufNames(names, config.layers);
  const turned = architecture.neighbours ? turnedHeads(config) : new Map<string, number>();
  return [...parameterSpecs(config)].flatMap(([name, spec]) => {
    const [, stem, ending] = /^(.*)(\.\w+)$/.exec(name) as unknown as [string, string, string];
    const shape = spec.transposed ? [...spec.shape].reverse() : spec.shape;
    const isMatrix = shape.length === 2 && stem !== names.positions;
    const stored = isMatrix ? matrixType(type, shape[1]!) : 'F32';
    const data = () =>
      tidy(() => {
        const values = adapted(source, name, stem, spec.transposed);
        const offset = spec.role === 'norm' && config.normOffset !== 0;
        const moved = offset ? values.to('float32').add(config.normOffset) : values;
        const heads = turned.get(stem);
        return encodeTensor(heads === undefined ? moved : neighbouringPairs(moved, heads), stored, name);
      });
    const tensor = { name: `${renamed.get(stem)}${ending}`, type: stored, shape, data };
    const isHead = config.tied && architecture.ownHead && stem === names.embedding;
    return isHead ? [tensor, { ...tensor, name: 'output.weight' }] : [tensor];
  });
}

/** Q8_0 needs rows of whole blocks. */
const matrixType = (type: ExportType, row: number): GgufTensorType =>
  type === 'q8_0' && row % Q8_BLOCK !== 0 ? 'F16' : MATRIX_TYPES[type];

/** A parameter, with its adapter added in float32. */
function adapted(
  { weights, lora, summed }: TensorSource,
  name: string,
  stem: string,
  transposed: boolean | undefined,
): Tensor {
  const stored = weights.read(name);
  const adapter = name.endsWith('.weight') ? lora?.of(stem) : undefined;
  if (!adapter) return stored;
  const sum = stored.to('float32').add(adapter.product());
  summed?.(name, transposed ? sum.t() : sum);
  return sum;
}

/** The projections that rotary embeddings turn, with the number of their heads. */
function turnedHeads(config: DecoderConfig): Map<string, number> {
  const names = namesOf(config);
  const layers = config.attention.map((_, i) => names.layer(i).qkv);
  return new Map(
    layers.flatMap((qkv) =>
      [config.heads, config.kvHeads].map((heads, i): [string, number] => [qkv[i]!, heads]),
    ),
  );
}

/**
 * Reorders the rows of a projection so that the rotary pairs (i, i + D / 2) of each head become neighbours. Queries and keys
 * are reordered alike, so their products stay the same.
 *
 * @param values - a weight or a bias, `[heads × D, …]`
 */
function neighbouringPairs(values: Tensor, heads: number): Tensor {
  const [rows, ...rest] = values.shape as [number, ...number[]];
  const halves = values.reshape([heads, 2, rows / heads / 2, ...rest]);
  return halves.transpose(1, 2).reshape([rows, ...rest]);
}
