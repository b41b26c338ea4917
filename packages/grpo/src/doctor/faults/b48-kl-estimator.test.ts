import { startOf, testStepCheck } from '../planted.test.helper.js';
import { all, declare, estimate } from '../plants.test.helper.js';

const k3 = (d: number) => Math.exp(-d) + d - 1;

testStepCheck('B48.estimator', [
  {
    name: 'k1 where k3 is declared',
    into: { step: 5 },
    plant: estimate((d) => d),
    verdict: 'fail',
    measured: { estimate: 'k3', fits: 'k1' },
  },
  {
    name: 'the other direction',
    into: { step: 5 },
    plant: estimate((d) => k3(-d)),
    verdict: 'fail',
    measured: { fits: 'k3 of log π_ref − log π' },
  },
  {
    name: 'k2, as declared',
    into: { step: 5 },
    plant: all(
      estimate((d) => (d * d) / 2),
      declare({ kl: { estimator: 'k2' } }),
    ),
    verdict: 'pass',
  },
  {
    name: 'k2, and none is declared',
    into: { step: 5 },
    plant: all(
      estimate((d) => (d * d) / 2),
      ({ declared }) => void delete declared!.kl!.estimator,
    ),
    verdict: 'pass',
    measured: { estimate: 'k2' },
  },
  {
    name: 'small ones of the wrong kind',
    into: { step: 5 },
    plant: all(
      (record) => {
        const { policyLogprobs } = record.updates![0]!;
        record.scored!.referenceLogprobs = policyLogprobs!.map((value, i) => value - 0.002 * ((i % 3) - 1));
      },
      estimate((d) => d),
    ),
    verdict: 'fail',
    measured: { fits: 'k1' },
  },
  {
    name: 'masked tokens',
    into: { step: 5 },
    plant: (record) => {
      record.updates![0]!.klTerms!.fill(7, startOf(record, 20));
      record.scored!.mask!.fill(0, startOf(record, 20));
    },
    verdict: 'pass',
  },
  {
    name: 'the full KL is none of them',
    into: { step: 5 },
    plant: declare({ kl: { estimator: 'full' } }),
    verdict: 'not applicable',
  },
  {
    name: 'a monitor of a KL that is in the reward',
    into: { step: 5 },
    plant: (record) => {
      declare({ kl: { place: 'reward' } })(record);
      record.updates![0]!.klTerms!.fill(7);
    },
    verdict: 'not applicable',
  },
]);

testStepCheck('B48.in-loss', [
  { name: 'k1', plant: declare({ kl: { estimator: 'k1' } }), verdict: 'warn' },
  {
    name: 'k1 in the reward',
    plant: declare({ kl: { estimator: 'k1', place: 'reward' } }),
    verdict: 'not applicable',
  },
  { name: 'k1 × ratio', plant: declare({ kl: { estimator: 'k1', biasCorrected: true } }), verdict: 'pass' },
  { name: 'k1 with β 0', plant: declare({ kl: { estimator: 'k1', beta: 0 } }), verdict: 'not applicable' },
]);
