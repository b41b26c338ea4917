import { describe, expect, it } from 'vitest';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { judgeRun, recordsOf } from '../plants.test.helper.js';

testLogCheck('B60.slow', [
  { name: 'recompilations', metrics: { step_time: times(30, (i) => (i % 5 ? 10 : 100)) }, verdict: 'inform' },
  { name: 'a slow first step', metrics: { step_time: times(30, (i) => (i ? 10 : 100)) }, verdict: 'pass' },
]);

testLogCheck('B60.second', [
  {
    name: 'a second step of five times the first',
    metrics: {
      step_time: [21.7, 103.6, 104],
      'seconds/score': [0.2, 80],
      'seconds/loss': [8, 9],
    },
    verdict: 'inform',
    measured: { first: 21.7, second: 103.6, stage: 'score', to: 80 },
  },
  {
    name: 'time that no line accounts for',
    metrics: { step_time: [21.7, 103.6], 'seconds/score': [0.2, 0.3] },
    verdict: 'inform',
    measured: { second: 103.6 },
  },
  { name: 'compilation', metrics: { step_time: [103.6, 21.7] }, verdict: 'pass' },
  { name: 'seconds', metrics: { step_time: [0.5, 4] }, verdict: 'pass' },
  {
    name: 'steps of a run that went on',
    metrics: { step_time: [21.7, 103.6] },
    firstStep: 40,
    verdict: 'not applicable',
  },
]);

testLogCheck('B60.memory-log', [
  {
    name: 'a graph that is kept',
    metrics: { memory_bytes: times(30, (i) => 4e8 + 1e8 * i + (i % 3)) },
    verdict: 'inform',
    measured: { entries: 30 },
  },
  {
    name: 'memory that goes up and down',
    metrics: { memory_bytes: times(30, (i) => 4e8 + 1e7 * (i % 3)) },
    verdict: 'pass',
  },
]);

testStepCheck('B60.stage', [
  {
    name: 'a record that takes 9 of 10 seconds: it is no stage of the step',
    plant: ({ stages }) => {
      stages!.push({ name: 'record', seconds: 9 });
    },
    verdict: 'pass',
  },
  {
    name: 'a judge that takes 9 of 10 seconds',
    plant: ({ stages }) => {
      stages!.push({ name: 'judge', seconds: 9 });
    },
    verdict: 'inform',
    measured: { stage: 'judge' },
  },
  {
    name: 'a step of milliseconds',
    plant: (record) => {
      record.stages = [
        { name: 'sample', seconds: 0.09 },
        { name: 'update', seconds: 0.01 },
      ];
    },
    verdict: 'pass',
  },
]);

describe('B60.memory', () => {
  const sized = (steps: number[], bytes: (step: number) => number) =>
    recordsOf(steps, (record, step) => {
      record.stages = [{ name: 'update', seconds: 1, bytes: bytes(step) }];
    });
  const steps = [1, 2, 10, 20, 30, 40];
  it('finds a graph that is kept', () => {
    expect(
      judgeRun(
        'B60.memory',
        sized(steps, (step) => 4e8 + 1e8 * step + (step % 3)),
      ),
    ).toMatchObject({
      severity: 'inform',
      measured: { entries: 6 },
    });
  });
  it('passes memory that goes up and down', () => {
    expect(
      judgeRun(
        'B60.memory',
        sized(steps, (step) => 4e8 + 1e7 * (step % 3)),
      ),
    ).toMatchObject({ verdict: 'pass' });
  });
  it('needs 20 steps', () => {
    expect(
      judgeRun(
        'B60.memory',
        sized([1, 2, 3, 4, 5], () => 1),
      ),
    ).toMatchObject({ verdict: 'not applicable' });
  });
});
