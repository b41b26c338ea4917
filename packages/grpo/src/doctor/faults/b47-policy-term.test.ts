import type { StepRecord } from '../../trace/index.js';
import { change, testLogCheck, testStepCheck } from '../planted.test.helper.js';
import { all, declare, sequences } from '../plants.test.helper.js';

const clamp = (ratio: number, low = 0.8, high = 1.2) => Math.max(low, Math.min(high, ratio));

/** The second update’s terms from ratio and advantage. */
const terms = (of: (ratio: number, advantage: number) => number) => (record: StepRecord) => {
  const { ratios } = record.updates![1]!;
  const owner = [...record.scored!.lengths!].flatMap((length, b) => Array<number>(length).fill(b));
  change(record, 'policyTerms', (_, i) => of(ratios![i]!, record.advantages![owner[i]!]!), 1);
};

testStepCheck('B47.policy', [
  {
    name: 'max in place of min',
    plant: terms((r, a) => -Math.max(r * a, clamp(r) * a)),
    verdict: 'fail',
    evidence: { values: { update: 2 } },
  },
  { name: 'the advantage’s sign', plant: terms((r, a) => Math.min(r * a, clamp(r) * a)), verdict: 'fail' },
  {
    name: 'clipped on one side only',
    plant: terms((r, a) => -Math.min(r * a, clamp(r, 0) * a)),
    verdict: 'fail',
  },
  { name: 'no clip', plant: terms((r, a) => -r * a), verdict: 'fail' },
  {
    name: 'another upper clip, as declared',
    plant: all(
      terms((r, a) => -Math.min(r * a, clamp(r, 0.8, 1.24) * a)),
      declare({ objective: { clipHigh: 0.24 } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'the clip is not known',
    plant: ({ declared }) => void delete declared!.objective!.clipLow,
    verdict: 'not applicable',
  },
  {
    name: 'sequence ratios',
    plant: all(
      sequences,
      terms((r, a) => -Math.min(r * a, clamp(r) * a)),
      declare({ objective: { ratio: 'sequence' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'cispo has another term',
    plant: all(
      terms((r, a) => -r * a),
      declare({ objective: { loss: 'cispo' } }),
    ),
    verdict: 'not applicable',
  },
  {
    name: 'a masked token without a term',
    plant: (record) => {
      record.updates![0]!.policyTerms![5] = Number.NaN;
      record.scored!.mask![5] = 0;
    },
    verdict: 'pass',
  },
  {
    name: 'a term that is no number',
    plant: (record) => void record.updates![0]!.policyTerms!.fill(Number.NaN, 5, 6),
    verdict: 'fail',
    evidence: { completion: 1 },
  },
]);

testStepCheck('B47.step', [
  {
    name: 'downhill',
    plant: ({ probes }) => {
      probes!.tinyStep!.objectiveChange = -0.01;
    },
    verdict: 'fail',
  },
]);

testLogCheck('B47.size', [
  {
    name: 'losses of 30 and 80 beside rewards below 1',
    metrics: { policy_loss: [0.1, 80, 0.2, -30], reward: [0.1, 0.2, 0.1, 0.2] },
    verdict: 'inform',
    evidence: { step: 2 },
    measured: { far: 2, most: 80, limit: 10 },
  },
  { name: 'one alone', metrics: { policy_loss: [0.1, 80, 0.2, 0.3] }, verdict: 'pass' },
  {
    name: 'infinite ones, which B45.log names',
    metrics: { policy_loss: [0.1, Number.POSITIVE_INFINITY, 0.2, Number.POSITIVE_INFINITY] },
    verdict: 'pass',
  },
  { name: 'rewards as large', metrics: { policy_loss: [30, 80], reward: [10, 9] }, verdict: 'pass' },
  {
    name: 'a loss, without a KL',
    metrics: { loss: [95, 70] },
    verdict: 'inform',
    measured: { name: 'loss' },
  },
  {
    name: 'a loss that may be of the KL',
    metrics: { loss: [95, 70], kl: [900, 800] },
    verdict: 'not applicable',
  },
]);
