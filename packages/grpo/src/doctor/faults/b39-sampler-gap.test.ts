import type { StepRecord } from '../../trace/index.js';
import { change, startOf, testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { all, declare, half, maskedGarbage, off } from '../plants.test.helper.js';

const gap = 'sampling/sampling_logp_difference/mean';

testLogCheck('B39.log', [
  { name: 'large', metrics: { [gap]: times(4, 0.2) }, verdict: 'warn' },
  { name: 'large in one entry alone', metrics: { [gap]: [0.2] }, verdict: 'inform' },
  { name: 'usual between two engines', metrics: { [gap]: times(4, 0.02) }, verdict: 'pass' },
]);

const weight = 'sampling/importance_sampling_ratio/mean';

testLogCheck('B39.weight', [
  { name: 'near 0', metrics: { [weight]: times(3, 3e-7) }, verdict: 'warn', measured: { median: 3e-7 } },
  { name: 'near 0 in one entry alone', metrics: { [weight]: [3e-7] }, verdict: 'inform' },
  { name: 'usual of tokens', metrics: { [weight]: times(3, 0.95) }, verdict: 'pass' },
]);

testLogCheck('B39.kl', [
  { name: 'large', metrics: { 'sampling/kl': times(4, 0.35) }, verdict: 'warn' },
  { name: 'usual', metrics: { 'sampling/kl': times(4, 0.001) }, verdict: 'pass' },
]);

testLogCheck('B39.probability', [
  { name: 'large', metrics: { 'sampling/probability_difference/mean': times(4, 0.27) }, verdict: 'warn' },
  { name: 'usual', metrics: { 'sampling/probability_difference/mean': times(4, 0.005) }, verdict: 'pass' },
]);

testStepCheck('B39.gap', [
  { name: 'in float32', plant: off(1e-3), verdict: 'warn' },
  { name: 'in bfloat16', plant: all(off(1e-3), half), verdict: 'pass' },
  { name: 'in bfloat16, far', plant: all(off(0.1), half), verdict: 'warn' },
  {
    name: 'one token',
    plant: (record) =>
      change(record, 'policyLogprobs', (value, i) => (i === startOf(record, 12) + 4 ? value - 0.03 : value)),
    verdict: 'warn',
    evidence: { completion: 12, token: 4 },
  },
  {
    name: 'NaN',
    plant: (record) =>
      change(record, 'policyLogprobs', (value, i) => (i === startOf(record, 12) + 4 ? Number.NaN : value)),
    verdict: 'warn',
    evidence: { completion: 12, token: 4 },
  },
  { name: 'masked completions', plant: maskedGarbage, verdict: 'pass' },
  {
    name: 'scored over supports that are declared, not written down',
    plant: (record) => {
      const { completions } = record;
      declare({ rollout: { topK: 8, keepSupport: true } })(record);
      completions!.sampledLogprobs = completions!.samplerLogprobs!.slice();
      completions!.samplerLogprobs = completions!.samplerLogprobs!.map((value) => value - 0.07);
    },
    verdict: 'pass',
  },
  {
    name: 'a group that an earlier policy sampled',
    plant: (record) => {
      record.prompts!.replayed = Int32Array.of(0, 0, 0, 1, 0, 0);
      const [start, end] = [startOf(record, 12), startOf(record, 16)];
      change(record, 'policyLogprobs', (value, i) => (i >= start && i < end ? value - 0.3 : value));
    },
    verdict: 'pass',
  },
]);

/** Moves the policy's log-probs of tokens from a place on. */
const from = (place: number, by: number) => (record: StepRecord) => {
  const places = [...record.scored!.lengths!].flatMap((length) => Array.from({ length }, (_, t) => t));
  change(record, 'policyLogprobs', (value, i) => (places[i]! >= place ? value - by : value));
};

testStepCheck('B39.own', [
  {
    name: 'three late tokens, which chance may put there',
    into: { bonus: true },
    plant: (record) => {
      const late = [12, 13, 14].map((b) => startOf(record, b) + 19);
      change(record, 'policyLogprobs', (value, i) => (late.includes(i) ? value - 2 : value));
    },
    verdict: 'fail',
    measured: { place: 0 },
  },
  {
    name: 'decoding that computes otherwise from a place on',
    into: { bonus: true },
    plant: from(25, 2),
    verdict: 'fail',
    measured: { place: 25 },
  },
  {
    name: 'a distance everywhere',
    into: { bonus: true },
    plant: from(0, 2),
    verdict: 'fail',
    measured: { place: 0 },
  },
  { name: 'rounding', into: { bonus: true }, plant: from(25, 1e-3), verdict: 'pass' },
  { name: 'in bfloat16', into: { bonus: true }, plant: all(from(25, 2), half), verdict: 'not applicable' },
  {
    name: 'with a server',
    plant: from(25, 2),
    verdict: 'not applicable',
  },
  {
    name: 'what is no number',
    into: { bonus: true },
    plant: from(25, Number.NaN),
    verdict: 'not applicable',
  },
]);
