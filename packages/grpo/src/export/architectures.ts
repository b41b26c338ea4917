import { UserError } from '../errors/user-error.js';
import type { DecoderConfig } from '../models/index.js';

/** How llama.cpp computes a family. What it would compute otherwise than the decoder is refused. */
export interface Architecture {
  /** `general.architecture`, and the first part of its keys. */
  name: string;
  activation: DecoderConfig['activation'];
  /** Biases that it reads. */
  biases: 'none' | 'qkv' | 'all';
  /** Rotary pairs are neighbours (2i, 2i + 1), not halves (i, i + dims / 2): rows of queries and keys are reordered. */
  neighbours?: true;
  /** It reads a divisor for each rotary frequency: `shared` ones, as Llama 3's scaling needs, or LongRoPE's `long` and short ones. */
  frequencies?: 'shared' | 'long';
  /** Factors of embeddings, residuals, logits and attention scores are metadata; elsewhere they follow from the shape. */
  scales?: true;
  /** Embeddings are multiplied by √hiddenSize. */
  scaledEmbeddings?: true;
  /** With so many layers, attention scores are divided by √(hiddenSize / heads) in place of √headDim. */
  scaledByWidth?: number;
  /** Logits and attention scores are capped. */
  softcaps?: true;
  /** Of so many layers the last attends to all positions, the others to a window. */
  windowPeriod?: number;
  /** Of so many layers the last knows no positions. */
  noRopePeriod?: number;
  /** It has no tied heads: the embedding is written twice. */
  ownHead?: true;
}

const plain = { activation: 'silu', biases: 'none' } as const;
const llama = { ...plain, name: 'llama', biases: 'all', neighbours: true, frequencies: 'shared' } as const;
const gemma = { ...plain, activation: 'gelu_tanh', scaledEmbeddings: true } as const;

/** By family. Masked-diffusion models have none: their tokens are not drawn from left to right. */
const architectures = new Map<string, Architecture>([
  ['gpt2', { ...plain, name: 'gpt2', activation: 'gelu_tanh', biases: 'all' }],
  ['llama', llama],
  ['mistral', llama],
  ['qwen2', { ...plain, name: 'qwen2', biases: 'qkv' }],
  ['qwen3', { ...plain, name: 'qwen3' }],
  ['gemma2', { ...gemma, name: 'gemma2', softcaps: true, windowPeriod: 2, scaledByWidth: 46 }],
  ['gemma3', { ...gemma, name: 'gemma3', windowPeriod: 6, scaledByWidth: 62 }],
  ['smollm3', { ...plain, name: 'smollm3', neighbours: true, noRopePeriod: 4 }],
  ['phi3', { ...plain, name: 'phi3', frequencies: 'long' }],
  ['olmo2', { ...plain, name: 'olmo2', ownHead: true }],
  ['granite', { ...llama, name: 'granite', scales: true }],
]);

/**
 * The architecture of llama.cpp for a decoder.
 *
 * @param file - `config.json`, for errors
 * @throws UserError: it has none, or would compute something else
 */
export function architectureOf(config: DecoderConfig, file: string): Architecture {
  if (config.diffusion) {
    throw new UserError(`${file}: this is a masked-diffusion model, which cannot be exported as GGUF`, {
      hint: 'Programs that read GGUF draw one token after another. To sample it: npx grpo generate, or npx grpo serve.',
    });
  }
  const architecture = architectures.get(config.family);
  if (!architecture) {
    throw new UserError(`${file}: models of the family ${config.family} cannot be exported as GGUF`, {
      hint: `Families that can: ${[...architectures.keys()].join(', ')}`,
    });
  }
  const found = differences(config, architecture);
  if (found.length > 0) {
    throw new UserError(
      `${file}: this model cannot be exported as GGUF, since llama.cpp's ${architecture.name} differs in ${found.join(', ')}`,
      { hint: 'llama.cpp would load the file and compute other logits without a word.' },
    );
  }
  return architecture;
}

/** What a file of this architecture cannot say, or llama.cpp not compute, by name. */
function differences(config: DecoderConfig, a: Architecture): string[] {
  const { headDim, hiddenSize, heads, layers, attention, ropes } = config;
  const full = ropes.find((_, i) => attention.some(({ rope, window }) => rope === i && !window));
  const scale = (layers === a.scaledByWidth ? hiddenSize / heads : headDim) ** -0.5;
  const isNear = (x: number, y: number) => Math.abs(x - y) <= 1e-6 * Math.abs(y);
  const windows = new Set(attention.flatMap(({ window }) => window ?? []));
  const isMixed = windows.size > 0 && attention.some(({ window }) => window === undefined);
  const scaling = full?.scaling?.type;
  const differs = {
    'the activation': config.activation !== a.activation,
    'its biases':
      (config.qkvBias && a.biases === 'none') ||
      ((config.outputBias || config.mlpBias) && a.biases !== 'all'),
    'the factor of attention scores': !a.scales && !isNear(config.attentionScale, scale),
    'the factor of embeddings':
      !a.scales && !isNear(config.embeddingScale, a.scaledEmbeddings ? hiddenSize ** 0.5 : 1),
    'the factors of residuals and logits':
      !a.scales && (config.residualScale !== 1 || config.logitDivisor !== 1),
    'capped logits and attention scores':
      (a.softcaps ?? false) !== (config.logitSoftcap !== undefined) ||
      (a.softcaps ?? false) !== (config.attentionSoftcap !== undefined),
    'windows of several lengths': windows.size > 1,
    'which layers attend to a window': a.windowPeriod
      ? windows.size === 0 || windowPeriod(config) === undefined
      : isMixed,
    'which layers know positions': attention.some(
      ({ rope }, i) =>
        ropes.length > 0 &&
        (rope === undefined) !== (a.noRopePeriod !== undefined && (i + 1) % a.noRopePeriod === 0),
    ),
    'layers with other rotary frequencies': ropes.length > 1 && !a.windowPeriod,
    'how many dimensions of a head are turned': a.neighbours && ropes.some(({ dims }) => dims !== headDim),
    [`${scaling} scaling of rotary frequencies`]:
      (scaling === 'llama3' && a.frequencies !== 'shared') ||
      (scaling === 'longrope' && a.frequencies !== 'long'),
  };
  return Object.entries(differs).flatMap(([name, isOther]) => (isOther ? [name] : []));
}

/** Of so many layers the last attends to all positions, the others to a window; undefined where no number says it. */
export function windowPeriod({ attention }: DecoderConfig): number | undefined {
  const first = attention.findIndex(({ window }) => window === undefined);
  const period = first < 0 ? attention.length + 1 : first + 1;
  const fits = attention.every(({ window }, i) => (window === undefined) === ((i + 1) % period === 0));
  return fits ? period : undefined;
}
