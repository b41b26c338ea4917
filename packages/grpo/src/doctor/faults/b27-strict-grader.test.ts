import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { answerWith, judgeRun, recordsOf } from '../plants.test.helper.js';

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

/** Right answers: in one form where they earned something, in another where they earned nothing. */
const forms =
  (paid: (gold: number) => string, unpaid: (gold: number) => string) =>
  ({ completions, rewards }: StepRecord) => {
    const { totals } = rewards!;
    const least = Math.min(...totals!);
    completions!.texts = completions!.texts!.map((_, b) =>
      (totals![b]! > least ? paid : unpaid)(2 * completions!.prompt![b]!),
    );
  };

testStepCheck('B27.gold', [
  {
    name: 'right numbers without the tag that a rewarded one closes',
    plant: forms(
      (gold) => `<answer>${gold}</answer>`,
      (gold) => `<answer>${gold}`,
    ),
    verdict: 'pass',
  },
  {
    name: 'right numbers with all tags, and a space',
    plant: forms(
      (gold) => `<answer>${gold}</answer>`,
      (gold) => `<answer> ${gold}</answer>`,
    ),
    verdict: 'warn',
  },
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

/** Every third completion is the answer of its prompt, put so. */
const answering =
  (name: string, put: (answer: string) => string, value: (b: number) => number) => (record: StepRecord) => {
    const { completions, rewards, prompts } = record;
    const B = completions!.texts!.length;
    prompts!.answers = Array.from(prompts!.lengths!, (_, p) => String(100 + p));
    rewards!.names![0] = name;
    for (let b = 0; b < B; b++) {
      completions!.texts![b] = b % 3 === 0 ? put(prompts!.answers[completions!.prompt![b]!]!) : 'no idea';
      rewards!.values![b] = value(b);
    }
  };

const golds = (unpaid: number) => (record: StepRecord) => {
  record.probes!.golds = [{ reward: 'exact', graded: 12, unpaid, ...(unpaid > 0 && { answer: '-3' }) }];
};

const contradicted =
  (count: number) =>
  ({ probes }: StepRecord) => {
    const one = { prompt: '3-8=', answers: [-5, 5] };
    probes!.contradictions = { prompts: 200, contradicted: count, ...(count > 0 && one) };
  };

testStepCheck('B27.contradicted', [
  {
    name: 'rows of a source with its answers turned',
    plant: contradicted(20),
    verdict: 'warn',
    measured: { contradicted: 20, answers: '-5 and 5' },
    evidence: { text: '3-8=' },
  },
  { name: 'none', plant: contradicted(0), verdict: 'pass' },
]);

testStepCheck('B27.rows', [
  { name: 'negative answers', plant: golds(2), verdict: 'warn', measured: { unpaid: 2, answer: '-3' } },
  { name: 'nearly all', plant: golds(11), verdict: 'inform' },
  { name: 'none', plant: golds(0), verdict: 'pass' },
]);

describe('B27.never', () => {
  const judged = (...args: Parameters<typeof answering>) =>
    judgeRun('B27.never', recordsOf([1, 2], answering(...args)));

  it('warns of a reward that pays the answer itself nothing', () => {
    expect(
      judged(
        'exact',
        (answer) => answer,
        () => 0,
      ),
    ).toMatchObject({
      severity: 'warn',
      measured: { reward: 'exact', isWhole: true },
      evidence: [{ text: '100' }, {}],
    });
  });

  it('warns where the answer ends the text, and no reward pays anything', () => {
    const found = judged(
      'exact',
      (answer) => `It is ${answer}`,
      () => 0,
    );
    expect(found).toMatchObject({ severity: 'warn', measured: { isWhole: false, paysAny: false } });
  });

  it('informs where another reward pays something, or the form is what is paid', () => {
    const ending = (answer: string) => `It is ${answer}`;
    const withAnother = (record: StepRecord) => {
      answering('exact', ending, () => 0)(record);
      const { names, values } = record.rewards!;
      Object.assign(record.rewards!, {
        names: [...names!, 'other'],
        values: Float64Array.from([...values!, ...values!.map((_, b) => b % 2)]),
      });
    };
    expect(judgeRun('B27.never', recordsOf([1, 2], withAnother))).toMatchObject({ severity: 'inform' });
    const form = judged(
      'format_reward',
      (answer) => answer,
      () => 0,
    );
    expect(form).toMatchObject({ severity: 'inform', measured: { isWhole: false } });
  });

  it('passes a penalty that is 0, and no penalty that is always something', () => {
    const penalty = (value: number) =>
      judged(
        'length_penalty',
        (answer) => answer,
        () => value,
      );
    expect(penalty(0)).toMatchObject({ verdict: 'pass' });
    expect(penalty(-0.01)).toMatchObject({ severity: 'warn' });
  });

  it('leaves out right answers that the reward has no opinion of', () => {
    const found = judged(
      'exact',
      (answer) => answer,
      (b) => (b % 3 === 0 ? Number.NaN : 0),
    );
    expect(found).toMatchObject({ verdict: 'pass' });
  });

  it('passes a reward that pays anything, and one that pays all', () => {
    expect(
      judged(
        'exact',
        (answer) => answer,
        (b) => Number(b === 0),
      ),
    ).toMatchObject({ verdict: 'pass' });
    expect(
      judged(
        'exact',
        (answer) => answer,
        () => 1,
      ),
    ).toMatchObject({ verdict: 'pass' });
  });
});

describe('B27.lenient', () => {
  /** Every fourth answer is right, the next is off by one; `pays` says what each earns. */
  const judged = (pays: (place: number) => number, tail = '') =>
    judgeRun(
      'B27.lenient',
      recordsOf([1, 2, 3, 4], ({ completions, prompts, rewards }) => {
        prompts!.answers = Array.from(prompts!.lengths!, () => '5');
        completions!.texts = completions!.texts!.map((_, b) => `It is ${[5, 6][b % 4] ?? 30 + b}${tail}`);
        rewards!.names = ['close'];
        rewards!.weights = [1];
        rewards!.values = Float64Array.from(completions!.texts, (_, b) => pays(b % 4));
        rewards!.totals = rewards!.values;
      }),
    );

  it('warns where a number beside the reference is paid as that is', () => {
    expect(judged((place) => Number(place < 2))).toMatchObject({
      severity: 'warn',
      measured: { reward: 'close', paid: 24, wrong: 12 },
    });
  });

  it('passes where it is paid less, and where the answer stands before a remark', () => {
    expect(judged((place) => [1, 0.5][place] ?? 0)).toMatchObject({ verdict: 'pass' });
    expect(judged((place) => Number(place === 0))).toMatchObject({ verdict: 'pass' });
    expect(judged((place) => Number(place < 2), ', after 5 steps')).toMatchObject({
      verdict: 'not applicable',
    });
  });

  it('does not judge a reward that pays most of all', () => {
    expect(judged(() => 1)).toMatchObject({ verdict: 'not applicable' });
  });
});
