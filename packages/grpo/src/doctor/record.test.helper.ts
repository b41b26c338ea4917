import type { StepRecord } from '../trace/index.js';
import { RECORD_VERSION } from '../trace/record.js';

const P = 3;
const G = 4;
const VOCABULARY = 50;
export const END = 49;
const PAD = 48;

/** A stream of numbers in [0, 1), the same for the same seed. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * The record of a step in which all is right: 3 prompts × 4 completions of 4 to 9 tokens, loss dapo with β 0.1, float32.
 * Log-probs are of tokens drawn from known distributions, so that their surprise is what the entropies say.
 */
export function cleanRecord(seed = 1, step = 1): StepRecord {
  const random = numbers(seed);
  const B = P * G;
  const lengths = Int32Array.from({ length: B }, () => 4 + Math.floor(random() * 6));
  const T = lengths.reduce((a, b) => a + b, 0);
  const ids = new Int32Array(T);
  const logprobs = new Float32Array(T);
  const entropies = new Float32Array(T);
  let offset = 0;
  for (const length of lengths) {
    for (let t = 0; t < length; t++) {
      ids[offset + t] = t === length - 1 ? END : Math.floor(random() * (PAD - 1));
      // A token of two that are left: likely p, or the other.
      const p = 0.6 + 0.3 * random();
      const likely = random() < p;
      logprobs[offset + t] = Math.log(likely ? p : 1 - p);
      entropies[offset + t] = -(p * Math.log(p) + (1 - p) * Math.log(1 - p));
    }
    offset += length;
  }
  const totals = Float64Array.from({ length: B }, () => Math.round(random() * 10) / 10);
  const advantages = new Float64Array(B);
  for (let g = 0; g < P; g++) {
    const own = totals.subarray(g * G, (g + 1) * G);
    const mean = own.reduce((a, b) => a + b, 0) / G;
    const deviation = Math.sqrt(own.reduce((a, b) => a + (b - mean) ** 2, 0) / (G - 1));
    own.forEach((reward, i) => {
      advantages[g * G + i] = deviation === 0 ? 0 : (reward - mean) / (deviation + 1e-4);
    });
  }
  const promptLengths = Int32Array.of(5, 6, 7);
  const promptIds = Int32Array.from({ length: 18 }, () => Math.floor(random() * PAD));
  const policyTerms = Float32Array.from(
    [...lengths].flatMap((length, b) => Array<number>(length).fill(-advantages[b]!)),
  );
  const weights = new Float32Array(T).fill(1 / T);
  const loss = policyTerms.reduce((a, term, t) => a + term * weights[t]!, 0);
  return {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step,
    producer: { name: 'test' },
    declared: {
      rollout: { group: G, maxNewTokens: 16, temperature: 1, topP: 1, topK: 0, minP: 0 },
      maxPromptTokens: 32,
      objective: { loss: 'dapo', clipLow: 0.2, clipHigh: 0.2, oldLogprobs: 'detach' },
      kl: { beta: 0.1, estimator: 'k3' },
      advantage: { scale: 'group' },
      dtype: 'float32',
      masterWeights: false,
      activeDropout: [],
    },
    tokenizer: {
      vocabularySize: VOCABULARY,
      padId: PAD,
      endIds: [END],
      specialTokens: { 48: '<pad>', 49: '<end>' },
    },
    prompts: {
      texts: ['<user>a<assistant>', '<user>b<assistant>', '<user>c<assistant>'],
      assistantHeader: '<assistant>',
      afterAnswer: '<end><user>',
      ids: promptIds,
      lengths: promptLengths,
      scoredIds: promptIds,
      scoredLengths: promptLengths,
    },
    completions: {
      prompt: Int32Array.from({ length: B }, (_, b) => Math.floor(b / G)),
      texts: Array.from({ length: B }, (_, b) => `answer ${b}`),
      finish: Array<string>(B).fill('stop'),
      ids,
      lengths,
      source: new Uint8Array(T),
      samplerLogprobs: logprobs,
      sampledLogprobs: logprobs,
    },
    scored: { ids, lengths, mask: new Uint8Array(T).fill(1), referenceLogprobs: logprobs },
    rewards: { names: ['right'], weights: [1], values: totals, totals, inputType: 'text', failures: [] },
    advantages,
    updates: [
      {
        policyLogprobs: logprobs,
        entropies,
        policyTerms,
        klTerms: new Float32Array(T),
        weights,
        loss,
        components: [
          { name: 'policy', coefficient: 1, value: loss },
          { name: 'kl', coefficient: 0.1, value: 0 },
        ],
        microBatches: { executed: 2, configured: 2 },
        learningRate: 1e-3,
        gradNorm: 0.7,
        zeroGradients: 0,
        changedShare: 0.99,
      },
    ],
    stages: [
      { name: 'sample', seconds: 0.5 },
      { name: 'update', seconds: 0.5 },
    ],
    probes: {
      repeatedScoring: { mean: 0, max: 0, tokens: T },
      aloneInBatch: { mean: 1e-6, max: 1e-5, tokens: T },
    },
  };
}
