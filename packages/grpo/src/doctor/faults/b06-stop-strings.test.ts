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

testStepCheck('B06.stop', [
  {
    name: 'the stop string is gone',
    plant: answerWith(() => '<answer>4'),
    verdict: 'warn',
    evidence: { completion: 11, text: '…<answer>4' },
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
