/**
 * The second decoder: one sequence at a time, without padding, packing or a cache, with eager attention, in float32
 * whatever the weights are. A layer's weights are float32 while the layer is computed, and no longer.
 */
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import type { PlainHead } from './plain-head.js';
import { layerOutput, layerTensors } from './plain-layer.js';
import type { PlainModel } from './plain-model.js';
import { type PlainShape, plainShape } from './plain-shape.js';
import { PlainTensors, roundedAt } from './plain-tensors.js';

/** Names of the tensors outside of the layers; a norm without `.weight`. */
export function outerNames({ config }: PlainModel): OuterNames {
  const { family, tied } = plainShape(config);
  const names = OUTER_NAMES[family] ?? OUTER_NAMES.llama;
  return { ...names, head: tied ? names.embedding : names.head };
}

interface OuterNames {
  embedding: string;
  positions?: string;
  finalNorm: string;
  head: string;
}

const OUTER_NAMES: Partial<Record<PlainShape['family'], OuterNames>> & { llama: OuterNames } = {
  gpt2: {
    embedding: 'transformer.wte.weight',
    positions: 'transformer.wpe.weight',
    finalNorm: 'transformer.ln_f',
    head: 'lm_head.weight',
  },
  llama: { embedding: 'model.embed_tokens.weight', finalNorm: 'model.norm', head: 'lm_head.weight' },
  llada: {
    embedding: 'model.transformer.wte.weight',
    finalNorm: 'model.transformer.ln_f',
    head: 'model.transformer.ff_out.weight',
  },
};

/**
 * The input of each layer for each sequence, `[L, D]`, followed by the output of the last layer; without gradients.
 *
 * @param tell - called between two layers
 */
export function layerStates(
  model: PlainModel,
  sequences: readonly (readonly number[])[],
  tell = () => {},
): Tensor[][] {
  const states: Tensor[][] = sequences.map(() => []);
  eachLayer(model, sequences, (outputs) => {
    for (const [i, output] of outputs.entries()) states[i]!.push(output);
    tell();
  });
  return states;
}

/** What the last layer gives of each sequence, `[L, D]`; without gradients. */
export function lastStates(
  model: PlainModel,
  sequences: readonly (readonly number[])[],
  tell = () => {},
): Tensor[] {
  let last: Tensor[] = [];
  eachLayer(model, sequences, (outputs) => {
    for (const output of last) output.dispose();
    last = outputs;
    tell();
  });
  return last;
}

/** Hands over what the first layer takes and what each gives; a layer is made float32 once for all sequences. */
function eachLayer(
  model: PlainModel,
  sequences: readonly (readonly number[])[],
  take: (outputs: Tensor[]) => void,
): void {
  noGrad(() => {
    let outputs = sequences.map((ids) => tidy(() => embedded(model, ids)));
    take(outputs);
    for (let layer = 0; layer < plainShape(model.config).layers.length; layer++) {
      outputs = tidy(() => {
        const tensors = layerTensors(model, layer);
        return outputs.map((input) => tidy(() => layerOutput(tensors, layer, input)));
      });
      take(outputs);
    }
  });
}

/** What the vocabulary projection takes, as a function of what the last layer gives. */
export function finalNorm(model: PlainModel): { tensors: PlainTensors; of(x: Tensor): Tensor } {
  const tensors = new PlainTensors(model, outerNames(model).finalNorm);
  return { tensors, of: (x) => tensors.norm('', x) };
}

/** The vocabulary projection, as the model has it, and what becomes of its products. */
export function headOf(model: PlainModel): PlainHead {
  const { logitDivisor, logitCap } = plainShape(model.config);
  const weight = weightOf(model, outerNames(model).head);
  return { weight, divisor: logitDivisor, cap: logitCap, rounded: (x) => roundedAt(model.roundsAt, x) };
}

/** @throws Error: the model lacks it */
function weightOf({ weights }: PlainModel, name: string): Tensor {
  const weight = weights.get(name);
  if (!weight) throw new Error(`the model has no tensor ${name}`);
  return weight;
}

/** Factor of the token embeddings. */
export function embeddingFactor(model: PlainModel): number {
  const { scale, rounded } = plainShape(model.config).embedding;
  if (!rounded) return scale;
  const { dtype } = weightOf(model, outerNames(model).embedding);
  return tidy(() => tensor([scale]).to(dtype).item());
}

function embedded(model: PlainModel, ids: readonly number[]): Tensor {
  const names = outerNames(model);
  const rows = (name: string, places: readonly number[]) => {
    const weight = weightOf(model, name);
    const index = tensor([...places], undefined, { dtype: 'int64', device: weight.device });
    return weight.detach().indexSelect(0, index).to('float32');
  };
  const factor = embeddingFactor(model);
  const unscaled = rows(names.embedding, ids);
  const tokens = factor === 1 ? unscaled : unscaled.mul(factor);
  return names.positions ? tokens.add(rows(names.positions, [...ids.keys()])) : tokens;
}
