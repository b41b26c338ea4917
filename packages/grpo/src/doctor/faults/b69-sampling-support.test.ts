import { TokenSets } from '../../formats/token-sets.js';
import { type StepRecord, supportRecordOf, supportsOf } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { all } from '../plants.test.helper.js';

const into = { kept: true };

/** Puts other sets in place of those of each token. */
const sets =
  (change: (own: readonly Uint32Array[], completion: number) => readonly ArrayLike<number>[]) =>
  (record: StepRecord) => {
    const { completions } = record;
    const changed = supportsOf(record)!.map((own, b) =>
      TokenSets.of(
        change(
          Array.from({ length: own!.length }, (_, t) => own!.ids(t)),
          b,
        ),
      ),
    );
    completions!.support = supportRecordOf(changed, completions!.lengths!)!;
  };

const declare =
  (rollout: NonNullable<NonNullable<StepRecord['declared']>['rollout']>) =>
  ({ declared }: StepRecord) =>
    Object.assign(declared!.rollout!, rollout);

/** How far the policy or the sampler is from its own supports, from the whole vocabulary, and from the supports after. */
const offSupports =
  (side: 'policy' | 'sampler', own: number, whole: number, after: number) =>
  ({ probes }: StepRecord) => {
    const of = { whole, before: 3, after };
    for (const setting of probes!.plainScoring!) {
      if (setting.support) setting[side].mean = of[setting.support];
      else if (setting.shift === 0 && setting.temperature === 1) setting[side].mean = own;
    }
  };

testStepCheck('B69.member', [
  {
    name: 'supports of the tokens after',
    into,
    plant: sets((own) => own.map((_, t) => own[Math.min(t + 1, own.length - 1)]!)),
    verdict: 'fail',
  },
  {
    name: 'one token outside',
    into,
    plant: sets((own, b) => own.map((ids, t) => (b === 9 && t === 2 ? [ids[1]!] : ids))),
    verdict: 'fail',
    evidence: { completion: 9, token: 2 },
  },
  {
    name: 'completions of the whole vocabulary',
    plant: () => {},
    verdict: 'not applicable',
  },
]);

testStepCheck('B69.size', [
  {
    name: 'sets that hold less than top-p',
    into,
    plant: declare({ topP: 0.95 }),
    verdict: 'fail',
  },
  {
    name: 'a mass above 1',
    into,
    plant: ({ completions }) => {
      completions!.samplerLogprobs = completions!.sampledLogprobs!.map((value) => value + 0.01);
    },
    verdict: 'fail',
  },
  { name: 'fewer than k', into, plant: declare({ topP: 1, topK: 3 }), verdict: 'fail' },
  { name: 'k of them', into, plant: declare({ topP: 1, topK: 2 }), verdict: 'pass' },
  { name: 'fewer, that top-p left of k', into, plant: declare({ topP: 0.95, topK: 3 }), verdict: 'pass' },
  { name: 'a token below min-p', into, plant: declare({ topP: 1, minP: 0.9 }), verdict: 'fail' },
  {
    name: 'an only id that was not certain',
    into,
    plant: sets((own) => own.map((ids) => [ids[0]!])),
    verdict: 'fail',
  },
  {
    name: 'penalties, which move probability too',
    into,
    plant: declare({ topP: 0.95, presencePenalty: 1 }),
    verdict: 'pass',
  },
  {
    name: 'a server that tells log-probs over the support alone',
    into,
    plant: ({ completions }) => {
      completions!.samplerLogprobs = completions!.samplerLogprobs!.map(() => Number.NaN);
    },
    verdict: 'pass',
  },
]);

for (const [code, side] of [
  ['B69.scoring', 'policy'],
  ['B69.sampler', 'sampler'],
] as const)
  testStepCheck(code, [
    {
      name: 'over the whole vocabulary',
      into,
      plant: offSupports(side, 0.1, 1e-6, 2),
      verdict: 'fail',
      measured: { fits: 'the whole vocabulary' },
    },
    {
      name: 'over the supports of the tokens after',
      into,
      plant: offSupports(side, 0.1, 0.3, 1e-6),
      verdict: 'fail',
      measured: { fits: 'the ids of the token after' },
    },
    { name: 'fits none', into, plant: offSupports(side, 0.1, 0.3, 2), verdict: 'not applicable' },
    {
      name: 'penalties, which only the sampler’s have',
      into,
      plant: all(offSupports(side, 0.1, 1e-6, 2), declare({ repetitionPenalty: 1.2 })),
      verdict: side === 'sampler' ? 'not applicable' : 'fail',
    },
    { name: 'without a support', plant: () => {}, verdict: 'not applicable' },
  ]);
