import type { StepRecord } from '../../trace/index.js';
import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';
import { answerWith } from '../plants.test.helper.js';

testStepCheck('B06.closed', [
  {
    name: 'no answer is closed',
    plant: ({ completions }) => {
      completions!.texts = completions!.texts!.map((text) => text.replace('</answer>', ''));
    },
    verdict: 'warn',
    measured: { tag: '<answer>' },
  },
  {
    name: 'some are',
    plant: ({ completions }) => {
      completions!.texts = completions!.texts!.map((text, b) =>
        b < 20 ? text.replace('</answer>', '') : text,
      );
    },
    verdict: 'pass',
  },
]);

const withoutStop = ({ completions }: StepRecord) => {
  completions!.texts![11] = completions!.texts![11]!.replace('</answer>', '');
};

testStepCheck('B06.stop', [
  {
    name: 'the stop string was sampled, and is gone',
    plant: withoutStop,
    verdict: 'fail',
    evidence: { completion: 11, text: '…<answer>11 apples' },
    measured: { without: 1 },
  },
  {
    name: 'it is gone, and nobody says whether it is meant to be',
    plant: (record) => {
      withoutStop(record);
      delete record.declared!.textChanges;
    },
    verdict: 'warn',
  },
  {
    name: 'it is gone as declared',
    plant: (record) => {
      withoutStop(record);
      record.declared!.textChanges = ['stop'];
    },
    verdict: 'pass',
  },
  {
    name: 'the stop string is gone',
    into: { step: 5 },
    plant: answerWith(() => '<answer>4'),
    verdict: 'warn',
    evidence: { completion: 11, text: '…<answer>4' },
  },
  {
    name: 'the sampled ids lack it, too',
    plant: (record) => {
      withoutStop(record);
      record.completions!.sampledTexts![11] = record.completions!.texts![11]!;
    },
    verdict: 'warn',
    measured: { without: 1 },
  },
  {
    name: 'it is gone before an end token, which no other completion was stopped without',
    plant: (record) => {
      withoutStop(record);
      record.completions!.finish!.fill('length');
    },
    verdict: 'fail',
    measured: { stopped: 1, without: 1 },
  },
  {
    name: 'a line break that was trimmed',
    plant: ({ declared, completions }) => {
      declared!.stop = ['\n'];
      completions!.sampledTexts = completions!.texts!.map((text) => `${text}\n`);
    },
    verdict: 'pass',
  },
  {
    name: 'no stop string declared',
    plant: ({ declared }) => {
      delete declared!.stop;
    },
    verdict: 'not applicable',
  },
]);

testLogCheck('B06.log', [
  {
    name: 'a format that is never fulfilled',
    metrics: { 'rewards/format/mean': times(20, 0), 'completions/clipped_ratio': times(20, 0.1) },
    verdict: 'warn',
  },
  {
    name: 'nothing ends',
    metrics: { 'rewards/format/mean': times(20, 0), 'completions/clipped_ratio': times(20, 1) },
    verdict: 'pass',
  },
]);
