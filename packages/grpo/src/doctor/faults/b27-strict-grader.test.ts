import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { answerWith } from '../plants.test.helper.js';

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
    plant: answerWith((p) => `It is ${2 * p}.`),
    verdict: 'warn',
    evidence: { completion: 9, values: { gold: '4' } },
  },
  {
    name: 'right numbers without reward, beside wrong ones with a reward: not its business',
    plant: (record) => {
      answerWith((p) => `It is ${2 * p}.`)(record);
      const { completions, rewards } = record;
      const most = Math.max(...rewards!.totals!);
      completions!.texts = completions!.texts!.map((text, b) => (rewards!.totals![b] === most ? 'no' : text));
    },
    verdict: 'not applicable',
  },
  {
    name: 'right numbers with a unit',
    plant: answerWith((p) => `<answer>${2 * p} apples</answer>`),
    verdict: 'warn',
  },
  {
    name: 'words that end in the letter of the answer',
    plant: both(
      answers('A'),
      answerWith(() => 'a banana'),
    ),
    verdict: 'pass',
  },
  {
    name: 'the letter itself',
    plant: both(
      answers('A'),
      answerWith(() => 'The answer is a.'),
    ),
    verdict: 'warn',
  },
  {
    name: 'the last line of a worked answer',
    plant: both(
      answers('1 + 1 = 2\n#### 1,000'),
      answerWith(() => 'so 1000'),
    ),
    verdict: 'warn',
  },
  {
    name: 'rewards of which some are missing',
    plant: both(
      answerWith((p) => `It is ${2 * p}.`),
      ({ rewards }) => {
        rewards!.totals![0] = Number.NaN;
      },
    ),
    verdict: 'warn',
  },
]);
