import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';

/** Completions of the groups that are still learning, of which 3 of 4 earn least. */
const say =
  (text: (prompt: number) => string) =>
  ({ completions }: StepRecord) => {
    completions!.texts = completions!.texts!.map((own, b) => (b < 8 ? own : text(completions!.prompt![b]!)));
  };
const answers =
  (gold: string) =>
  ({ prompts }: StepRecord) => {
    prompts!.answers = prompts!.answers!.map(() => gold);
  };
const both =
  (...plants: ((record: StepRecord) => void)[]) =>
  (record: StepRecord) => {
    for (const plant of plants) plant(record);
  };

testStepCheck('B27.gold', [
  {
    name: 'right numbers without reward',
    plant: say((p) => `It is ${2 * p}.`),
    verdict: 'warn',
    evidence: { completion: 9, values: { gold: '4' } },
  },
  {
    name: 'right numbers with a unit',
    plant: say((p) => `<answer>${2 * p} apples</answer>`),
    verdict: 'warn',
  },
  {
    name: 'words that end in the letter of the answer',
    plant: both(
      answers('A'),
      say(() => 'a banana'),
    ),
    verdict: 'pass',
  },
  {
    name: 'the letter itself',
    plant: both(
      answers('A'),
      say(() => 'The answer is a.'),
    ),
    verdict: 'warn',
  },
  {
    name: 'the last line of a worked answer',
    plant: both(
      answers('1 + 1 = 2\n#### 1,000'),
      say(() => 'so 1000'),
    ),
    verdict: 'warn',
  },
  {
    name: 'rewards of which some are missing',
    plant: both(
      say((p) => `It is ${2 * p}.`),
      ({ rewards }) => {
        rewards!.totals![0] = Number.NaN;
      },
    ),
    verdict: 'warn',
  },
]);

testStepCheck('B06.stop', [
  {
    name: 'the stop string is gone',
    plant: say(() => '<answer>4'),
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
