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

testLogCheck('B09.length', [
  {
    name: 'one length in each entry',
    metrics: { 'completions/mean_length': times(3, 255) },
    verdict: 'inform',
    measured: { length: 255 },
  },
  { name: 'lengths that differ', metrics: { 'completions/mean_length': [255, 254, 255] }, verdict: 'pass' },
  { name: 'a word', metrics: { 'completions/mean_length': times(3, 4) }, verdict: 'pass' },
  {
    name: 'a mean that is no length',
    metrics: { 'completions/mean_length': times(3, 40.5) },
    verdict: 'pass',
  },
  {
    name: 'beside the share that is truncated',
    metrics: { 'completions/mean_length': times(3, 255), 'completions/clipped_ratio': times(3, 1) },
    verdict: 'not applicable',
  },
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
