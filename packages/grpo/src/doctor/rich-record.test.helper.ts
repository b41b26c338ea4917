import { TokenSets } from '../formats/token-sets.js';
import { AGAIN, HAND_OVERS, type StepRecord, type UpdateRecord, type WeightProbe } from '../trace/index.js';
import { RECORD_VERSION } from '../trace/record.js';
import { supportRecordOf } from '../trace/support.js';
import { END, numbers } from './record.test.helper.js';

export const PAD = 48;
const BOS = 0;
const P = 6;
const G = 4;
const B = P * G;

/** The probe of a server that has the weights that were handed over: they moved by 0.05 nats, and its kernels add 1e-5. */
function weightProbe(random: () => number): WeightProbe {
  const noise = (size: number) => size * 2 * (random() - 0.5);
  const list = (length: number, from: (t: number) => number) =>
    Float32Array.from({ length }, (_, t) => from(t));
  const trainer = list(24, () => Math.log(0.2 + 0.7 * random()));
  const rescored = list(16, () => Math.log(0.2 + 0.7 * random()));
  return {
    expected: 'step-2',
    answered: 'step-2',
    previous: 'step-1',
    prompt: Int32Array.from({ length: 20 }, (_, t) => t),
    completion: Int32Array.from(trainer, (_, t) => 1 + t),
    trainer,
    before: trainer.map((value) => value + noise(0.05)),
    cold: trainer.map((value) => value + noise(1e-5)),
    sampled: Int32Array.from(rescored, (_, t) => 1 + t),
    sampledLengths: Int32Array.of(10, 6),
    warm: rescored.map((value) => value + noise(1e-5)),
    rescored,
    bound: 1e-3,
    seconds: 0.1,
  };
}

/** Each token could have been drawn from itself and the next one. */
const pairedWithNext = (ids: readonly number[]) => TokenSets.of(ids.map((id) => [id, id + 1]));

export interface Rich {
  seed?: number;
  /** From 2 on the reference is not the policy any more. */
  step?: number;
  /** Declares penalties, which the sampler applies from the second token on. */
  penalties?: boolean;
  /** Declares an entropy bonus, and adds it; and a least length. */
  bonus?: boolean;
  /** Declares a top-p, and keeps the ids that it left: log-probs are over them. */
  kept?: boolean;
  /** 1 when not given. */
  temperature?: number;
}

/**
 * A right step that gives every check something to judge: two updates from a rollout, groups of equal and of different
 * rewards, end tokens of two kinds of which one is the padding, stop strings, penalties, probes.
 */
export function richRecord({
  seed = 1,
  step = 1,
  penalties = false,
  bonus = false,
  kept = false,
  temperature = 1,
}: Rich = {}): StepRecord {
  const otherTemperature = temperature === 1 ? 0.7 : 1;
  const random = numbers(seed);
  const noise = (size: number) => size * (random() - 0.5);
  // The first two groups have learnt their task.
  const learnt = (b: number) => b < 2 * G;
  const lengths = Int32Array.from({ length: B }, (_, b) => (learnt(b) ? 3 : 20 + Math.floor(random() * 20)));
  const rows = Array.from(lengths, (length, b) => {
    const end = b % 3 === 0 ? PAD : b % 3 === 1 ? END : 7;
    return Array.from({ length }, (_, t) =>
      t === length - 1 ? (learnt(b) ? END : end) : learnt(b) ? 10 + t : 1 + Math.floor(random() * 46),
    );
  });
  const T = lengths.reduce((a, b) => a + b, 0);
  const perToken = (value: (b: number, t: number) => number) =>
    Float32Array.from(rows.flatMap((row, b) => row.map((_, t) => value(b, t))));
  const entropies = new Float32Array(T);
  let at = 0;
  const logprobs = perToken((b) => {
    const p = learnt(b) ? 0.99 : 0.6 + 0.3 * random();
    const likely = learnt(b) || random() < p;
    entropies[at++] = -(p * Math.log(p) + (1 - p) * Math.log(1 - p));
    return Math.log(likely ? p : 1 - p);
  });
  const reference = step === 1 ? logprobs : logprobs.map((value) => value + noise(0.4));
  const second = logprobs.map((value) => value + noise(0.5));
  const sampled = penalties
    ? perToken((_, t) => (t === 0 ? 0 : noise(0.1))).map((gap, t) => gap + logprobs[t]!)
    : logprobs;
  const totals = Float64Array.from({ length: B }, (_, b) =>
    learnt(b) ? 0.5 : b % G === 0 ? 0.9 + noise(0.1) : 0.1,
  );
  const advantages = new Float64Array(B);
  for (let g = 0; g < P; g++) {
    const own = totals.subarray(g * G, (g + 1) * G);
    const mean = own.reduce((a, b) => a + b, 0) / G;
    const deviation = Math.sqrt(own.reduce((a, b) => a + (b - mean) ** 2, 0) / (G - 1));
    for (const [i, reward] of own.entries())
      advantages[g * G + i] = g < 2 ? 0 : (reward - mean) / (deviation + 1e-4);
  }
  const ids = Int32Array.from(rows.flat());
  const promptRows = Array.from({ length: P }, (_, p) => [
    BOS,
    ...Array.from({ length: 9 + p }, () => 1 + Math.floor(random() * 46)),
  ]);
  const promptIds = Int32Array.from(promptRows.flat());
  const promptLengths = Int32Array.from(promptRows, (row) => row.length);
  const update = (policy: Float32Array): UpdateRecord => {
    const ratios = policy.map((value, t) => Math.exp(value - logprobs[t]!));
    const owner = rows.flatMap((row, b) => row.map(() => b));
    const policyTerms = ratios.map((ratio, t) => {
      const advantage = advantages[owner[t]!]!;
      return -Math.min(ratio * advantage, Math.max(0.8, Math.min(1.2, ratio)) * advantage);
    });
    const klTerms = policy.map((value, t) => {
      const d = reference[t]! - value;
      return Math.exp(d) - d - 1;
    });
    const weights = new Float32Array(T).fill(1 / T);
    const dot = (terms: Float32Array) => terms.reduce((sum, term, t) => sum + term * weights[t]!, 0);
    const parts = [
      { name: 'policy', coefficient: 1, value: dot(policyTerms) },
      { name: 'kl', coefficient: 0.1, value: dot(klTerms) },
      ...(bonus ? [{ name: 'entropy', coefficient: -0.01, value: dot(entropies) }] : []),
    ];
    return {
      policyLogprobs: policy,
      weightChecksums: [7, 7],
      entropies,
      ratios,
      policyTerms,
      klTerms,
      weights,
      loss: parts.reduce((sum, { coefficient, value }) => sum + coefficient * value, 0),
      components: parts,
      microBatches: { executed: 2, configured: 2 },
      learningRate: 1e-3,
      gradNorm: 0.7,
      zeroGradients: 0,
      descent: 0.4,
      moved: 2e-4,
      size: 0.05,
      resumed: { made: 8, counted: 8 },
      changedShare: 0.99,
    };
  };
  const prompts = Array.from({ length: P }, (_, p) => `What is ${p} + ${p}?`);
  const texts = Array.from({ length: B }, (_, b) => `<answer>${learnt(b) ? 'same' : `${b} apples`}</answer>`);
  const ended = (b: number) => [PAD, END].includes(rows[b]!.at(-1)!);
  return {
    format: 'grpo-step',
    version: RECORD_VERSION,
    step,
    producer: { name: 'grpo' },
    declared: {
      rollout: {
        group: G,
        maxNewTokens: 64,
        minNewTokens: bonus ? 2 : 0,
        temperature,
        topP: kept ? 0.9 : 1,
        topK: 0,
        minP: 0,
        repetitionPenalty: penalties ? 1.2 : 1,
      },
      maxPromptTokens: 64,
      stop: bonus ? [] : ['</answer>'],
      textChanges: [],
      objective: {
        loss: 'dapo',
        clipLow: 0.2,
        clipHigh: 0.2,
        ratio: 'token',
        oldLogprobs: 'recompute',
        maskTruncated: false,
      },
      kl: { beta: 0.1, estimator: 'k3' },
      entropy: { coefficient: bonus ? 0.01 : 0 },
      advantage: { scale: 'group', epsilon: 1e-4, ddof: 1 },
      ...(bonus && { lora: { rank: 8, alpha: 16 }, optimizer: { learningRate: 1e-4, weightDecay: 0.01 } }),
      updatesPerRollout: 2,
      dtype: 'float32',
      masterWeights: false,
      activeDropout: [],
    },
    settings: { logitsProcessors: ['TemperatureLogitsWarper'] },
    tokenizer: {
      pieces: { ids: Int32Array.of(49), bytes: Uint8Array.of(49), lengths: Int32Array.of(1) },
      vocabularySize: 50,
      bosId: BOS,
      expectedBos: 1,
      padId: PAD,
      endIds: [END, PAD],
      hasChatTemplate: true,
      specialTokens: { 0: '<s>', 47: '<|user|>', 48: '<|pad|>', 49: '<|end|>' },
    },
    prompts: {
      messages: prompts.map((content) => [{ role: 'user', content }]),
      texts: prompts.map((content) => `<s><|user|>${content}<|end|><|assistant|>`),
      assistantHeader: '<|assistant|>',
      afterAnswer: '<|end|><|user|>',
      answers: prompts.map((_, p) => String(2 * p)),
      ids: promptIds,
      lengths: promptLengths,
      scoredIds: promptIds.slice(),
      scoredLengths: promptLengths.slice(),
    },
    completions: {
      prompt: Int32Array.from({ length: B }, (_, b) => Math.floor(b / G)),
      texts,
      // A later record has only what the rewards got.
      ...(step === 1 && { sampledTexts: [...texts] }),
      finish: Array.from({ length: B }, (_, b) => (ended(b) || (b % 2 && !bonus) ? 'stop' : 'length')),
      ids,
      lengths,
      source: new Uint8Array(T),
      samplerLogprobs: kept ? logprobs.map((value, t) => value + Math.log(0.9 + 0.02 * (t % 5))) : logprobs,
      sampledLogprobs: sampled,
      ...(kept && { support: supportRecordOf(rows.map(pairedWithNext), lengths) }),
      server: new Int32Array(B),
      weightVersions: Array<string>(B).fill('step-2'),
    },
    ...(!bonus && {
      servers: [
        { name: '127.0.0.1:8000', software: 'vllm', isOwnEngine: false, probe: weightProbe(numbers(7)) },
      ],
    }),
    scored: {
      ids: ids.slice(),
      lengths: lengths.slice(),
      mask: new Uint8Array(T).fill(1),
      oldLogprobs: logprobs.slice(),
      referenceLogprobs: reference,
    },
    rewards: {
      names: ['right'],
      weights: [1],
      values: totals,
      totals: totals.slice(),
      inputType: 'text',
      failures: [],
      fallbacks: [-5],
      providers: Array<string>(B).fill('judge'),
    },
    advantages,
    updates: [update(logprobs.slice()), update(second)],
    stages: [
      { name: 'sample', seconds: 0.5, bytes: 1e6 },
      { name: 'update', seconds: 0.5, bytes: 2e6 },
    ],
    probes: {
      repeatedScoring: { mean: 0, max: 0, tokens: 50 },
      aloneInBatch: { mean: 1e-6, max: 1e-5, tokens: 50 },
      temperatures: [
        { temperature, mean: 1e-6, max: 1e-5, tokens: 50 },
        { temperature: otherTemperature, mean: 0.2, max: 1, tokens: 50 },
      ],
      plainScoring: [
        { temperature, shift: 0, gap: 1e-6 },
        { temperature: otherTemperature, shift: 0, gap: 0.2 },
        { temperature, shift: 1, gap: 3 },
        ...(kept ? (['whole', 'before', 'after'] as const) : []).map((support) => {
          return { temperature, shift: 0, support, gap: 0.2 };
        }),
      ].map(({ gap, ...setting }) => {
        const difference = { mean: gap, max: gap, tokens: 50 };
        return { ...setting, policy: difference, sampler: { ...difference } };
      }),
      canaries: [0, 1, 2, 3].flatMap((row) => [
        { kind: 'gold', reward: 'total', row, value: 1.1, least: 0.2 },
        { kind: 'empty', reward: 'total', row, value: 0, most: 1 },
        { kind: 'gold of another row', reward: 'total', row, value: 0.1, most: 1 },
        { kind: AGAIN, reward: 'right', row, value: 1, least: 1, most: 1 },
      ]),
      accumulation: { cosine: 1, normRatio: 1 },
      tinyStep: { objectiveChange: 0.01, entropyChange: 0.01 },
      reseeded: false,
      unfilled: [],
      heldOut: {
        ...{ prompts: 40, trained: 0, unlike: 0 },
        answers: { rows: 40, distinct: 17, least: 11, answer: '4', has: 5 },
      },
      contradictions: { prompts: 200, contradicted: 0 },
      added: [],
      together: [],
      golds: [
        { reward: 'right', graded: 4, unpaid: 0 },
        { reward: 'right', graded: 4, unpaid: 0, heldOut: true },
      ],
      changedSettings: [],
      skipped: 0,
      discarded: 0,
      greedy: false,
      leftOut: [],
      schedulesAnother: false,
      trainable: 9,
      unstable: [],
      drift: [{ reward: 'right', since: 1, graded: 3, changed: 0 }],
      headless: [],
      merged: false,
      epoch: 0.1 * step,
      lineBreaks: [{ reward: 'right', graded: 2, earned: 0 }],
      bestBy: { metric: 'eval_reward', greaterIsBetter: true },
      ...(step === 1 && { checksums: { policy: 7, reference: 7 } }),
    },
    audit: {
      completions: [0, 3],
      comparisons: [
        ...HAND_OVERS.map((handOver) => ({ handOver, quantity: 'number' })),
        { handOver: 'completion' as const, quantity: 'log-prob of the sampler' },
        { handOver: 'old log-probs' as const, quantity: 'log-prob of the policy' },
        { handOver: 'update' as const, quantity: 'tensor of the optimizer' },
        { handOver: 'weights' as const, quantity: 'weight that the step before left' },
      ].map((one) => ({ ...one, compared: 9, found: 1, plain: 1.5, deviation: 0.5, bound: 1 })),
      missing: [],
    },
  };
}
