import { startOf, testStepCheck } from '../planted.test.helper.js';

testStepCheck('B10.cut', [
  {
    name: 'completions that begin with their prompt’s end',
    plant: ({ completions, prompts }) => {
      let [at, promptAt] = [0, 0];
      for (const [b, length] of completions!.lengths!.entries()) {
        const p = completions!.prompt![b]!;
        promptAt = prompts!.lengths!.slice(0, p + 1).reduce((x, y) => x + y, 0);
        if (length > 9) completions!.ids!.set(prompts!.ids!.slice(promptAt - 9, promptAt), at);
        at += length;
      }
    },
    verdict: 'warn',
    evidence: { completion: 8, values: { repeated: 9 } },
  },
]);

testStepCheck('B10.length', [
  {
    name: 'longer than allowed',
    plant: ({ declared }) => {
      declared!.rollout!.maxNewTokens = 10;
    },
    verdict: 'fail',
    evidence: { completion: 8 },
  },
  {
    name: 'several turns that are each short enough',
    plant: (record) => {
      record.declared!.rollout!.maxNewTokens = 30;
      for (let b = 8; b < 24; b++) record.completions!.source![startOf(record, b) + 15] = 1;
    },
    verdict: 'pass',
  },
  {
    name: 'no limit declared',
    plant: ({ declared }) => {
      delete declared!.rollout!.maxNewTokens;
    },
    verdict: 'not applicable',
  },
]);
