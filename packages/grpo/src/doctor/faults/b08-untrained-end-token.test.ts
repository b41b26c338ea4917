import { expect } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { cutScored, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, lastToken, setMask } from '../plants.test.helper.js';
import { PAD } from '../rich-record.test.helper.js';

/** A long completion that the token closed. */
const closedBy = (record: StepRecord, end: number): number =>
  record.scored!.lengths!.findIndex(
    (length, b) => length > 3 && record.completions!.ids![startOf(record, b) + lastToken(record, b)] === end,
  );
const cut = 'completions/clipped_ratio';

testStepCheck('B08.end', [
  {
    name: 'the end token is masked',
    plant: (record) => setMask(record, closedBy(record, 49), lastToken(record, closedBy(record, 49)), 0),
    verdict: 'fail',
    evidence: { completion: 10 },
  },
  {
    name: 'the end token is not scored',
    plant: (record) => cutScored(record, 1, 2),
    verdict: 'fail',
    evidence: { completion: 1, token: 2 },
  },
  {
    name: 'a completion masked as a whole',
    plant: (record) => {
      for (let t = 0; t <= lastToken(record, 10); t++) setMask(record, 10, t, 0);
    },
    verdict: 'pass',
  },
  {
    name: 'the end token is of the template',
    plant: (record) => {
      record.completions!.source![startOf(record, 11) - 1] = 2;
      setMask(record, 10, lastToken(record, 10), 0);
    },
    verdict: 'pass',
  },
  {
    name: 'the lost end token is the padding: another fault',
    plant: (record) => setMask(record, closedBy(record, PAD), lastToken(record, closedBy(record, PAD)), 0),
    verdict: 'pass',
  },
]);

testLogCheck('B08.log', [
  {
    name: 'more in each of six entries',
    metrics: { [cut]: [0, 0.06, 0.12, 0.21, 0.38, 0.46] },
    verdict: 'warn',
    measured: { from: 0, to: 0.46 },
  },
  {
    name: 'half of them in the last of four',
    metrics: { [cut]: [0, 0.1, 0, 0.5] },
    verdict: 'not applicable',
  },
  { name: 'more and more', metrics: { [cut]: times(40, (i) => Math.min(1, i / 30)) }, verdict: 'warn' },
  {
    name: 'more and more, and the reward with it',
    metrics: {
      [cut]: times(40, (i) => Math.min(1, i / 30)),
      reward: times(40, (i) => i / 40 + 0.01 * (i % 3)),
    },
    verdict: 'warn',
    measured: { gainedFrom: expect.closeTo(0.06, 1) },
  },
  { name: 'all from the start', metrics: { [cut]: times(40, 1) }, verdict: 'pass' },
  {
    name: 'a swing that healed',
    metrics: { [cut]: times(60, (i) => (i > 20 && i < 40 ? 0.9 : 0.05) + 0.02 * (i % 2)) },
    verdict: 'inform',
    measured: { step: 22, until: 40 },
  },
  {
    name: 'a tenth more',
    metrics: { [cut]: times(60, (i) => (i > 30 ? 0.15 : 0.05) + 0.02 * (i % 2)) },
    verdict: 'pass',
  },
]);

/** Takes the end tokens away, and puts another in their places. */
const dropped = ({ completions }: StepRecord) => {
  completions!.ids = completions!.ids!.map((id) => (id === 48 || id === 49 ? 7 : id));
};

testStepCheck('B08.dropped', [
  { name: 'no completion has its end token', into: { bonus: true }, plant: dropped, verdict: 'warn' },
  { name: 'where stop strings end them', plant: dropped, verdict: 'not applicable' },
  {
    name: 'all are as long as the limit',
    into: { bonus: true },
    plant: all(dropped, declare({ rollout: { maxNewTokens: 3 } })),
    verdict: 'not applicable',
  },
  {
    name: 'all are cut',
    into: { bonus: true },
    plant: all(dropped, ({ completions }) => completions!.finish!.fill('length')),
    verdict: 'not applicable',
  },
]);
