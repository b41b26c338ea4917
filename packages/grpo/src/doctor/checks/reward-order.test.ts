import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';

/** Values of the first reward, by completion. */
const first = (of: (b: number) => number) => (record: StepRecord) => {
  const B = record.completions!.prompt!.length;
  for (let b = 0; b < B; b++) record.rewards!.values![b] = of(b);
};

const prompts = (record: StepRecord) => new Set(record.completions!.prompt).size;

testStepCheck('B21.cycled', [
  {
    name: 'one value a prompt, in turn',
    plant: (record) => first((b) => (b % prompts(record)) / 10)(record),
    verdict: 'warn',
    evidence: { values: { period: 6 } },
  },
  { name: 'one value for all', plant: first(() => 0.5), verdict: 'pass' },
  { name: 'nearly in turn', plant: first((b) => (b === 20 ? 9 : (b % 6) / 10)), verdict: 'pass' },
]);
