import { type DType, tensor, tidy } from '@grpo/torch';
import { expect, it } from 'vitest';
import { Decoder, type DecoderConfig } from '../../models/index.js';
import { Weights } from '../../models/weights.js';
import { fixtureModel } from '../../step/step.test.helper.js';
import type { Comparison } from '../../trace/index.js';
import { eachGradient, type HeadPass, type LayerPass } from '../plain/plain-gradient.js';
import { hiddenOf, promptsOf } from '../plain/plain-model.test.helper.js';
import type { PlainSequence } from '../plain/plain-pass.js';
import { worstByQuantity } from '../worst.js';
import { holdHead } from './hold-head.js';
import { holdLayer } from './hold-layers.js';
import { packPasses, rowsOf, sumsOf } from './pass-packing.js';
import { runPlain, slopedPasses } from './plain-run.js';
import { rawModel } from './raw-model.js';
import { toleranceOf } from './tolerance.js';

/** Two completions of one prompt, and one of another. */
function causalSequences(name: string): PlainSequence[] {
  const ids = promptsOf(`models/${name}`).filter(({ length }) => length > 6);
  const [one, other] = [ids[0]!, ids.at(-1)!];
  return [
    { prompt: one.slice(0, 3), completion: one.slice(3) },
    { prompt: one.slice(0, 3), completion: other.slice(1, 5) },
    { prompt: other.slice(0, 2), completion: other.slice(2) },
  ];
}

/** Compares the parts of a model. Its decoder that trains takes the given settings for its own. */
function compared(
  name: string,
  sick: (config: DecoderConfig) => Partial<DecoderConfig> = () => ({}),
  dtype: DType = 'bfloat16',
  sequences = causalSequences(name),
  temperature = 1,
): Comparison[] {
  const model = fixtureModel(name, dtype);
  const { config, parameters } = model.decoder;
  const plain = rawModel(model, model.decoder, { lora: { rank: 8 } } as never);
  return tidy(() => {
    const decoder = new Decoder(new Weights({ ...config, ...sick(config) }, parameters));
    const options = { temperature, tell: () => {} };
    const runs = runPlain(plain, sequences, options).map((run, i) => ({ ...sequences[i]!, ...run }));
    const slopes = sequences.map(({ completion: { length } }, i) => ({
      logprobs: Float64Array.from({ length }, (_, t) => Math.cos(7 * i + 3 * t)),
      entropies: Float64Array.from({ length }, (_, t) => Math.sin(3 * i + t) / 2),
    }));
    const found: Comparison[] = [];
    const held = {
      ...{ model: plain, decoder, packing: packPasses(runs) },
      ...{ forward: 'old log-probs' as const, tolerance: toleranceOf(dtype), tell: () => {} },
    };
    const parts = {
      head: (pass: HeadPass) => void found.push(...holdHead(pass, { ...held, temperature })),
      layer: (pass: LayerPass) => void found.push(...holdLayer(pass, held)),
    };
    const nothing = () => {};
    eachGradient(plain, slopedPasses(runs, slopes), temperature, nothing, nothing, parts);
    return worstByQuantity(found);
  });
}

const apart = (comparisons: readonly Comparison[]) =>
  comparisons.filter(({ deviation, bound }) => !(deviation <= bound)).map(({ quantity }) => quantity);

const QUANTITIES = [
  ['layer', 'output'],
  ['layer', 'gradient'],
  ['head', 'gradient'],
].flatMap(([part, of]) => ['distance to', 'share of'].map((what) => `${part}'s ${what} the plain ${of}`));

it.each([
  ...['gpt2', 'llama3', 'qwen2', 'qwen3', 'mistral', 'gemma2', 'gemma3', 'smollm3', 'phi3', 'olmo2'],
  'granite',
])('%s: each part is the plain one in bfloat16', (name) => {
  const comparisons = compared(name);
  expect(comparisons.map(({ quantity }) => quantity).sort()).toEqual(QUANTITIES.toSorted());
  expect(apart(comparisons)).toEqual([]);
});

it.each(['llada', 'dream', 'a2d-qwen2'])('%s: so is each that sees both ways', (name) => {
  const comparisons = compared(name, undefined, 'bfloat16', hiddenOf(name));
  expect(comparisons).toHaveLength(QUANTITIES.length);
  expect(apart(comparisons)).toEqual([]);
});

it('compares each tensor of a layer', () => {
  const tensorsOf = (name: string) =>
    compared(name).find(({ quantity }) => quantity === "layer's distance to the plain gradient")!.compared;
  const layersOf = (name: string) => fixtureModel(name).decoder.config.layers;
  // The slopes in the input, and four projections and two norms with their biases; or seven projections and two norms.
  expect(tensorsOf('gpt2')).toBe(13 * layersOf('gpt2'));
  expect(tensorsOf('llama3')).toBe(10 * layersOf('llama3'));
});

it('knows the ids that a token could be drawn from', () => {
  const some = causalSequences('llama3').map((one) => ({
    ...one,
    support: one.completion.map((id, t) =>
      t % 2 === 0 ? [...new Set([id, 3, 5])].sort((a, b) => a - b) : undefined,
    ),
  }));
  expect(apart(compared('llama3', undefined, 'bfloat16', some))).toEqual([]);
});

it('divides the logits by the temperature', () => {
  expect(apart(compared('llama3', undefined, 'bfloat16', undefined, 0.6))).toEqual([]);
});

it('compares nothing in full precision', () => {
  expect(compared('llama3', undefined, 'float32')).toEqual([]);
});

/** Settings that the trained layers take for theirs, and a quantity that tells it. */
const SICK: [string, string, (config: DecoderConfig) => Partial<DecoderConfig>, string][] = [
  [
    'scores that are a tenth too large',
    'llama3',
    ({ attentionScale }) => ({ attentionScale: attentionScale * 1.1 }),
    "layer's share of the plain gradient",
  ],
  [
    'residuals that are a twentieth too large',
    'granite',
    ({ residualScale }) => ({ residualScale: residualScale * 1.05 }),
    "layer's share of the plain output",
  ],
  ['another activation', 'gemma2', () => ({ activation: 'silu' }), "layer's distance to the plain gradient"],
  [
    'a window that is too short',
    'mistral',
    ({ attention }) => ({ attention: attention.map((one) => ({ ...one, window: 2 })) }),
    "layer's distance to the plain output",
  ],
  [
    'logits that are divided by a twentieth too much',
    'granite',
    ({ logitDivisor }) => ({ logitDivisor: logitDivisor * 1.05 }),
    "head's share of the plain gradient",
  ],
  [
    'logits that are capped too early',
    'gemma2',
    ({ logitSoftcap }) => ({ logitSoftcap: logitSoftcap! / 40 }),
    "head's distance to the plain gradient",
  ],
  ['an ε that is too large', 'qwen3', () => ({ normEps: 0.1 }), "layer's distance to the plain output"],
];

it.each(SICK)('tells %s', (_, name, sick, quantity) => {
  expect(apart(compared(name, sick))).toContain(quantity);
});

it('packs a prompt once for its completions', () => {
  const sequences = causalSequences('llama3');
  const { segments, pieces } = packPasses(
    sequences.map((one) => ({
      ...one,
      passes: [{ input: [...one.prompt, ...one.completion.slice(0, -1)] } as never],
    })),
  );
  const [one, two, three] = sequences as [PlainSequence, PlainSequence, PlainSequence];
  expect(segments).toEqual([
    { ids: one.prompt },
    { ids: one.completion.slice(0, -1), parent: 0 },
    { ids: two.completion.slice(0, -1), parent: 0 },
    { ids: [...three.prompt, ...three.completion.slice(0, -1)] },
  ]);
  tidy(() => {
    const packing = { segments, pieces };
    const ids = sequences.map(({ prompt, completion }) => [...prompt, ...completion.slice(0, -1)]);
    const values = ids.map((own) => tensor(own, [own.length, 1], { dtype: 'float32' }));
    const all = segments.flatMap((segment) => segment.ids);
    expect(rowsOf(packing, values).toNumbers()).toEqual(all);
    const shared = one.prompt.length;
    expect(sumsOf(packing, values).toNumbers()).toEqual(all.map((id, i) => (i < shared ? 2 * id : id)));
  });
});
