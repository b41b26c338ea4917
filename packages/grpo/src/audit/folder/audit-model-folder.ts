import { join } from 'node:path';
import { type DType, noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Config } from '../../config/schema.js';
import { uniform } from '../../maths/random.js';
import type { Model } from '../../models/index.js';
import type { HandOver } from '../../trace/index.js';
import type { Measure } from '../context.js';
import { roundToBfloat16 } from '../plain/plain-adamw.js';
import { column } from '../plain/plain-logprobs.js';
import { textPair } from '../text-pair.js';
import { type Pair, worstOf } from '../worst.js';
import { plainBpe, plainWords } from './plain-bpe.js';
import { ADAPTER_PREFIX, isTurned, StoredTensors } from './stored-tensors.js';
import { endIdsIn, frontIdsIn, jsonIn, templateIn } from './told-by-files.js';

/** The folders that a model was loaded from. */
export interface ModelSource {
  dir: string;
  /** The folder of the adapters; undefined for fresh ones. */
  adapter?: string | undefined;
}

/** Elements of each tensor that are read again. */
const ELEMENTS = 64;

/** Words that are encoded again. */
const WORDS = 64;

/**
 * Holds a model whose weights have not changed yet to the folders that it was loaded from, read a second time without
 * what loads: tensors, number type, configuration, ends, template and tokens.
 *
 * @param handOver - what does not hold where a comparison does not
 */
export const auditModelFolder =
  ({ dir, adapter }: ModelSource, handOver: HandOver): Measure =>
  ({ trainer: { model, config }, batch, tell }) => {
    const texts = batch.prompts.map(({ text }) => text);
    const told = [...compareFiles(model, dir), ...compareTokens(model, dir, texts)];
    const weights = compareWeights(model, dir, { seed: config.seed, dtype: config.dtype, tell });
    const adapters =
      adapter === undefined
        ? compareFresh(model, dir, config.lora)
        : compareStored(model, adapter, config.seed);
    return {
      comparisons: [...told, ...weights, ...adapters].flatMap(({ quantity, pairs }) =>
        worstOf(handOver, quantity, pairs),
      ),
    };
  };

interface Compared {
  quantity: string;
  pairs: readonly Pair[];
}

const one = (quantity: string, found: string | number, plain: string | number): Compared => ({
  quantity,
  pairs: [typeof found === 'string' ? textPair(found, String(plain)) : { found, plain, bound: 0 }],
});

function compareFiles({ configJson, endIds, template }: Model, dir: string): Compared[] {
  const ends = endIdsIn(dir);
  const source = templateIn(dir);
  return [
    one('config.json', JSON.stringify(configJson), JSON.stringify(jsonIn(dir, 'config.json'))),
    ...(ends
      ? [
          one(
            'list of ids that end a completion',
            [...endIds].sort((a, b) => a - b).join(' '),
            ends.join(' '),
          ),
        ]
      : []),
    ...(source === undefined ? [] : [one('chat template', template?.source ?? '', source)]),
  ];
}

function compareTokens({ tokenizer }: Model, dir: string, texts: readonly string[]): Compared[] {
  const json = jsonIn(dir, 'tokenizer.json');
  const front = frontIdsIn(dir, json);
  const { addsBos, bosId } = tokenizer;
  const encode = plainBpe(json);
  // A text is cut at added tokens first.
  const added = ((json.added_tokens ?? []) as { content: string }[]).map(({ content }) => content);
  const isCut = (word: string) => added.some((content) => word.includes(content));
  const words = encode ? plainWords(texts.join(' ')).filter((word) => !isCut(word)) : [];
  return [
    ...(front ? [one('list of ids in front of a text', addsBos ? String(bosId) : '', front.join(' '))] : []),
    {
      quantity: 'list of ids of a word',
      pairs: words
        .slice(0, WORDS)
        .map((word) =>
          textPair(`${word}: ${tokenizer.encode(word).join(' ')}`, `${word}: ${encode!(word).join(' ')}`),
        ),
    },
  ];
}

function compareWeights(
  { decoder: { parameters }, configJson }: Model,
  dir: string,
  { seed, dtype, tell }: { seed: number; dtype: DType; tell(): void },
): Compared[] {
  using stored = StoredTensors.ofModel(dir);
  const elements = [...parameters].flatMap(([name, tensor]): Pair[] => {
    tell();
    const source = stored.nameOf(name);
    if (source === undefined)
      return [{ found: 'in memory', plain: 'not in the folder', bound: 0, tensor: name }];
    return elementPairs(name, tensor, seed, dtype, (numbers) => {
      const [out, input] = tensor.shape as [number, number];
      const turned = (number: number) => (number % input) * out + Math.floor(number / input);
      return stored.elements(source, isTurned(configJson.model_type, name) ? numbers.map(turned) : numbers);
    });
  });
  return [
    { quantity: 'element of a tensor', pairs: elements },
    { quantity: 'number type of a tensor', pairs: typePairs(parameters, dtype) },
  ];
}

/** Adapters that PEFT or a checkpoint left. */
function compareStored({ decoder: { lora } }: Model, adapter: string, seed: number): Compared[] {
  if (!lora) return [];
  using stored = new StoredTensors([join(adapter, 'adapter_model.safetensors')]);
  const json = jsonIn(adapter, 'adapter_config.json');
  const { parameters, settings } = lora;
  return [
    one('factor of the adapters', settings.alpha / settings.rank, Number(json.lora_alpha) / Number(json.r)),
    one(
      'list of matrices of the adapters',
      listed(parameters.keys()),
      listed(stored.names.map((name) => name.slice(ADAPTER_PREFIX.length))),
    ),
    {
      quantity: 'element of an adapter',
      pairs: [...parameters].flatMap(([name, tensor]) =>
        stored.shapeOf(ADAPTER_PREFIX + name)
          ? elementPairs(name, tensor, seed, 'float32', (numbers) =>
              stored.elements(ADAPTER_PREFIX + name, numbers),
            )
          : [],
      ),
    },
  ];
}

/** Adapters that change nothing yet, on the layers that the settings name: all projections where they name none. */
function compareFresh(
  { decoder: { lora, parameters } }: Model,
  dir: string,
  { targets, rank, alpha = 2 * rank }: Config['lora'],
): Compared[] {
  if (!lora) return [];
  using stored = StoredTensors.ofModel(dir);
  const isMeant = (name: string) =>
    !targets || targets.some((target) => name === target || name.endsWith(`.${target}`));
  const layers = [...parameters.keys()].flatMap((name) => {
    const layer = name.replace(/\.weight$/, '');
    const source = stored.nameOf(name);
    const shape = source && stored.shapeOf(source);
    return shape?.length === 2 && /\.\d+\./.test(name) && isMeant(layer) ? [layer] : [];
  });
  const matrices = layers.flatMap((layer) => [`${layer}.lora_A.weight`, `${layer}.lora_B.weight`]);
  const second = [...lora.parameters].filter(([name]) => name.endsWith('.lora_B.weight'));
  return [
    one('factor of the adapters', lora.settings.alpha / lora.settings.rank, alpha / rank),
    one('list of matrices of the adapters', listed(lora.parameters.keys()), listed(matrices)),
    {
      quantity: 'sum of the sizes of a fresh lora_B',
      pairs: second.map(([tensor, b]) => ({
        found: tidy(() => b.detach().abs().sum().item()),
        plain: 0,
        bound: 0,
        tensor,
      })),
    },
  ];
}

const listed = (names: Iterable<string>) => [...names].sort().join(' ');

const typePairs = (tensors: ReadonlyMap<string, Tensor>, dtype: DType): Pair[] =>
  [...tensors].map(([tensor, { dtype: found }]) => ({ found, plain: dtype, bound: 0, tensor }));

/** Some elements of a tensor in memory, beside those that `storedOf` reads, rounded to the number type. */
function elementPairs(
  name: string,
  tensor: Tensor,
  seed: number,
  dtype: DType,
  storedOf: (numbers: readonly number[]) => readonly number[],
): Pair[] {
  const { numel } = tensor;
  const numbers = Array.from({ length: Math.min(ELEMENTS, numel) }, (_, i) =>
    Math.floor(numel * uniform(seed, i)),
  );
  const rounded = dtype === 'bfloat16' ? roundToBfloat16 : Math.fround;
  const found = noGrad(() =>
    tidy(() =>
      tensor
        .detach()
        .reshape([numel])
        .indexSelect(0, column(numbers, tensor.device).squeeze(1))
        .to('float32')
        .toTypedArray(),
    ),
  ) as Float32Array;
  return storedOf(numbers).map((plain, i) => ({
    found: found[i]!,
    plain: rounded(plain),
    bound: 0,
    tensor: name,
  }));
}
