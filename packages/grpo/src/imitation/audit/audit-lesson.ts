import { type AdamW, tidy } from '@grpo/torch';
import { affordable, MOST_CHOSEN } from '../../audit/chosen.js';
import type { Measured } from '../../audit/context.js';
import { lackOf } from '../../audit/model/audit-model.js';
import { holdGradients } from '../../audit/model/hold-gradients.js';
import { runPlain } from '../../audit/model/plain-run.js';
import { rawModel } from '../../audit/model/raw-model.js';
import { toleranceOf } from '../../audit/model/tolerance.js';
import type { PlainSequence } from '../../audit/plain/plain-pass.js';
import { type Pair, worstOf } from '../../audit/worst.js';
import type { Config } from '../../config/schema.js';
import { sum } from '../../maths/moments.js';
import { permutation } from '../../maths/random.js';
import { weightCount } from '../../memory/holdings.js';
import type { Model } from '../../models/index.js';
import type { Watch } from '../../progress/watch.js';
import type { Comparison } from '../../trace/index.js';
import type { Example } from '../examples.js';
import { hideExamples } from '../hide-examples.js';
import { learnExamples } from '../sft.js';

/** An SFT step before its update, as the audit sees it. */
export interface LessonContext {
  model: Model;
  optimizer: AdamW;
  config: Config;
  /** What the audit lacks of memory. */
  auditLack: string | undefined;
  /** Counted from 0. */
  step: number;
  examples: readonly Example[];
  /** Draws what is hidden from a masked-diffusion model. */
  seed: number;
  /** Hears how far it is, and may abandon it. */
  watch: Watch;
}

/**
 * Learns some examples of an SFT step, each in a micro-batch of its own, and holds loss and gradients to the mean negative
 * log-likelihood of the completions' tokens on the plain path. It changes nothing.
 */
export async function auditLesson(context: LessonContext): Promise<Measured[]> {
  const { model, config, examples, step } = context;
  const places = permutation(examples.length, config.seed, step);
  const lengthOf = (place: number) => examples[place]!.prompt.length + examples[place]!.completion.length;
  const missing = lackOf(context, places);
  if (missing !== undefined) return LACKING.map((handOver) => ({ handOver, missing }));
  const chosen = affordable(places.slice(0, MOST_CHOSEN), lengthOf, weightCount(model.decoder.config));
  return learnAgain({ ...context, examples: chosen.map((place) => examples[place]!) });
}

async function learnAgain(context: LessonContext): Promise<Measured[]> {
  const { model, optimizer, config, examples, seed, watch } = context;
  const width = config.rollout.maxNewTokens;
  const longest = Math.max(...examples.map(({ prompt, completion }) => prompt.length + completion.length));
  const microBatchTokens = Math.min(config.train.microBatchTokens, longest);
  const learning = { microBatchTokens, width, seed, recompute: config.train.recompute, watch };
  try {
    const { loss } = await learnExamples(model, optimizer, examples, learning);
    const compared = tidy(() => compare(context, sequencesOf(model, examples, { width, seed }), loss));
    if (config.lora.dropout === 0) return compared;
    return [...compared, { comparisons: await compareDropped(context, learning) }, DROPPED];
  } finally {
    optimizer.zeroGrad();
  }
}

/**
 * Both passes drop the same: recomputed layers must give the gradients that kept layers give.
 */
async function compareDropped(
  { model, optimizer, examples, config: { lora, train } }: LessonContext,
  learning: Parameters<typeof learnExamples>[3],
): Promise<Comparison[]> {
  if (train.recompute === 'none') return [];
  const gradientsOf = async (recompute: Config['train']['recompute']) => {
    optimizer.zeroGrad();
    await learnExamples(model, optimizer, examples, { ...learning, dropout: lora.dropout, recompute });
    return [...optimizer.gradients].map(([name, gradient]) => ({ name, numbers: gradient.toNumbers() }));
  };
  const kept = await gradientsOf('none');
  const again = await gradientsOf('layers');
  const pairs = kept.map(({ name, numbers }, i): Pair => {
    const apart = norm(numbers.map((number, k) => number - again[i]!.numbers[k]!));
    return { found: apart, plain: 0, bound: AGAIN * norm(numbers), tensor: name };
  });
  return worstOf('gradient', 'distance to the gradient without recomputation, under dropout', pairs);
}

const norm = (numbers: readonly number[]) => Math.sqrt(sum(numbers.map((number) => number ** 2)));

/** Relative: the same operations, in another order at most. */
const AGAIN = 1e-4;

/** What cannot be compared where the plain path cannot run. */
const LACKING = ['loss', 'gradient'] as const;

/** The plain path keeps all inputs of the adapters, and cannot tell which ones the updates drop. */
const DROPPED: Measured = {
  handOver: 'gradient',
  missing: 'a plain form of lora.dropout: what is computed again drops nothing',
};

function compare(
  { model, optimizer, config, watch }: LessonContext,
  sequences: readonly PlainSequence[],
  loss: number,
): Measured[] {
  const tell = () => watch.report({ stage: 'audit', done: 0, total: 1, unit: 'steps' });
  const plain = rawModel(model, model.decoder, config);
  const runs = runPlain(plain, sequences, { temperature: 1, tell });
  const tokens = sum(sequences.map(({ completion }) => completion.length));
  const tolerance = toleranceOf(model.decoder.dtype);
  const scored = runs.flatMap(({ passes }) => passes.map(({ targets, weight }) => targets.length * weight));
  const pair = {
    found: loss,
    plain: -sum(runs.flatMap(({ scores }) => [...scores.logprobs])) / tokens,
    bound: tolerance.all * Math.max(1, sum(scored) / tokens),
  };
  const comparisons = worstOf('loss', 'mean negative log-likelihood of completion tokens', [pair]);
  if (scored.length === 0) return [{ comparisons }];
  const slopes = sequences.map(({ completion }) => ({
    logprobs: new Float64Array(completion.length).fill(-1 / tokens),
    entropies: new Float64Array(completion.length),
  }));
  const trained = { decoder: model.decoder, forward: 'loss' as const };
  const options = { temperature: 1, tolerance, slack: 0, trained, tell };
  const learned = sequences.map((sequence, i) => ({ ...sequence, ...runs[i]! }));
  const gradients = holdGradients(plain, learned, slopes, optimizer.gradients, options);
  return [{ comparisons: [...comparisons, ...gradients] }];
}

/** Examples as the plain path scores them. */
function sequencesOf(
  { decoder, endIds }: Model,
  examples: readonly Example[],
  draws: { width: number; seed: number },
): PlainSequence[] {
  const { diffusion, maxPositions } = decoder.config;
  if (!diffusion) return [...examples];
  const masked = hideExamples(examples, { ...draws, endId: [...endIds][0]!, maxPositions });
  return masked.map((own, i) => ({ prompt: examples[i]!.prompt, completion: own.region, masked: own }));
}
