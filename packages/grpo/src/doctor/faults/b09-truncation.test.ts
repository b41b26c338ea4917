import { testLogCheck, testStepCheck, times } from '../planted.test.helper.js';

testLogCheck('B09.log', [
  { name: 'a third', metrics: { 'completions/clipped_ratio': times(5, 0.33) }, verdict: 'inform' },
  { name: 'all of one entry', metrics: { 'completions/clipped_ratio': [1] }, verdict: 'warn' },
  {
    name: 'all of four, which B16.log judges',
    metrics: { 'completions/clipped_ratio': times(4, 1) },
    verdict: 'pass',
  },
  { name: 'few', metrics: { 'completions/clipped_ratio': times(5, 0.05) }, verdict: 'pass' },
]);

testStepCheck('B09.prompt', [
  {
    name: 'two prompts at the limit',
    plant: ({ prompts, declared }) => {
      prompts!.lengths!.set([15, 15], 4);
      prompts!.lengths![0] = prompts!.lengths![0]! - 1;
      declared!.maxPromptTokens = 15;
    },
    verdict: 'warn',
    evidence: { prompt: 4 },
  },
  {
    name: 'one of six has that length',
    plant: ({ declared }) => {
      declared!.maxPromptTokens = 15;
    },
    verdict: 'pass',
  },
]);
