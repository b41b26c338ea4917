import { testStepCheck } from '../planted.test.helper.js';

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
