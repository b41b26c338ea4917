import type { Probes, StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';

type Canary = NonNullable<Probes['canaries']>[number];

/** Changes the canaries of the right record: a gold answer, a blank and the gold of another row, on each of four rows. */
const change =
  (by: (canary: Canary) => Partial<Canary>) =>
  ({ probes }: StepRecord) => {
    probes!.canaries = probes!.canaries!.map((canary) => ({ ...canary, ...by(canary) }));
  };
const of = (kind: string, row: number, changed: Partial<Canary>) =>
  change((canary) => (canary.kind === kind && (canary.row ?? 9) <= row ? changed : {}));

testStepCheck('B20.canary', [
  {
    name: 'all alike',
    plant: change(() => ({ value: 0.5 })),
    verdict: 'warn',
    measured: { value: 0.5, kinds: 3 },
  },
  {
    name: 'all alike, and nobody knows what is right',
    plant: ({ probes }) => {
      probes!.canaries = probes!.canaries!.map(({ least: _, ...canary }) => ({ ...canary, value: 0.5 }));
    },
    verdict: 'inform',
  },
  { name: 'a part alone', plant: change(() => ({ value: 1, reward: 'other' })), verdict: 'not applicable' },
]);

testStepCheck('B21.canary', [
  {
    name: 'answers of other rows are paid',
    plant: of('gold of another row', 9, { value: 1.1, rule: 'answer: a number' }),
    verdict: 'warn',
    evidence: { text: 'gold of another row', values: { value: 1.1, rule: 'answer: a number' } },
    measured: { probes: 4, wrong: 4 },
  },
  {
    name: 'blanks are paid: not its business',
    plant: of('empty', 9, { value: 1.1 }),
    verdict: 'pass',
  },
]);

testStepCheck('B23.canary', [
  {
    name: 'right answers graded 0',
    plant: of('gold', 1, { value: 0 }),
    verdict: 'warn',
    evidence: { text: 'gold', values: { value: 0, least: 0.2 } },
    measured: { probes: 4, wrong: 2 },
  },
  {
    name: 'right answers that could not be graded: not its business',
    plant: of('gold', 1, { value: null }),
    verdict: 'pass',
  },
]);

testStepCheck('B22.canary', [
  {
    name: 'a right answer that could not be graded',
    plant: of('gold', 0, { value: null }),
    verdict: 'warn',
    evidence: { values: { value: 'none' } },
  },
]);

testStepCheck('B26.canary', [
  {
    name: 'an empty answer is paid',
    plant: of('empty', 9, { value: 1.1 }),
    verdict: 'warn',
    evidence: { text: 'empty' },
    measured: { kinds: 'empty' },
  },
  {
    name: 'on one row of eight, as by accident',
    plant: ({ probes }) => {
      const more = probes!.canaries!.map((canary) => ({ ...canary, row: 4 + canary.row! }));
      probes!.canaries!.push(...more);
      probes!.canaries![1]!.value = 1.1;
    },
    verdict: 'pass',
  },
  {
    name: 'an empty answer has no value',
    plant: of('empty', 9, { value: null }),
    verdict: 'not applicable',
  },
]);
