import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { testStepCheck } from '../planted.test.helper.js';
import { all, judgeRun, recordsOf } from '../plants.test.helper.js';

const STEPS = [1, 2, 3, 4, 5];

/** Gives a step the prompts of the first. */
const repeated = (record: StepRecord) => {
  const [first] = recordsOf([1], () => {});
  record.prompts!.ids = first!.prompts!.ids!;
  record.prompts!.lengths = first!.prompts!.lengths!;
};

describe('B56.repeated', () => {
  it('warns of one batch in every step', () => {
    expect(judgeRun('B56.repeated', recordsOf(STEPS, repeated))).toMatchObject({
      severity: 'warn',
      measured: { records: 5, different: 1 },
    });
  });

  it('passes steps of different prompts, and the few of one rollout', () => {
    expect(
      judgeRun(
        'B56.repeated',
        recordsOf(STEPS, () => {}),
      ),
    ).toMatchObject({ verdict: 'pass' });
    const but = recordsOf(STEPS, (record, step) => (step === 3 ? undefined : repeated(record)));
    expect(judgeRun('B56.repeated', but)).toMatchObject({ verdict: 'pass' });
    expect(judgeRun('B56.repeated', recordsOf([1, 2, 3], repeated))).toMatchObject({ verdict: 'pass' });
  });
});

/** Gives prompts the ids of the first. */
const alike = (count: number) => (record: StepRecord) => {
  const { ids, lengths } = record.prompts!;
  const first = ids!.subarray(0, lengths![0]!);
  const rows = Array.from(lengths!, (length, p) => {
    const start = lengths!.subarray(0, p).reduce((a, b) => a + b, 0);
    return p < count ? first : ids!.subarray(start, start + length);
  });
  record.prompts!.ids = Int32Array.from(rows.flatMap((row) => [...row]));
  record.prompts!.lengths = Int32Array.from(rows, ({ length }) => length);
};

testStepCheck('B56.answers', [
  {
    name: 'one prompt for all answers',
    plant: alike(6),
    verdict: 'warn',
    measured: { prompts: 6, different: 1 },
  },
  {
    name: 'a prompt that is there twice',
    plant: (record) => {
      alike(2)(record);
      record.prompts!.answers![1] = record.prompts!.answers![0]!;
    },
    verdict: 'pass',
  },
]);

/** Ends conversations with a message of the assistant. */
const answered =
  (text: (answer: string) => string, count = 6) =>
  ({ prompts }: StepRecord) => {
    prompts!.messages = prompts!.messages!.map((messages, p) =>
      p < count
        ? [...(messages as object[]), { role: 'assistant', content: text(prompts!.answers![p]!) }]
        : messages,
    );
  };

/** Gives each prompt a text of its own, as the user's message or plain. */
const asking =
  (text: (answer: string, prompt: number, answers: readonly (string | null)[]) => string, isPlain = false) =>
  ({ prompts }: StepRecord) => {
    const { answers } = prompts!;
    prompts!.messages = answers!.map((answer, p) => {
      const content = text(answer!, p, answers!);
      return isPlain ? content : [{ role: 'user', content }];
    });
  };

const heldOut = (trained: number) => (record: StepRecord) => {
  record.probes!.heldOut = { prompts: 40, trained };
};

testStepCheck('B56.held-out', [
  { name: 'all of them', plant: heldOut(40), verdict: 'warn', measured: { trained: 40 } },
  {
    name: 'all of them, but for a space',
    plant(record) {
      heldOut(0)(record);
      record.probes!.heldOut!.alike = 40;
    },
    verdict: 'warn',
    measured: { trained: 40, same: 0 },
  },
  { name: 'two of forty', plant: heldOut(2), verdict: 'inform' },
  { name: 'none', plant: heldOut(0), verdict: 'pass' },
]);

testStepCheck('B56.few', [
  {
    name: 'two prompts',
    plant(record) {
      heldOut(0)(record);
      record.probes!.heldOut!.prompts = 2;
    },
    verdict: 'inform',
    measured: { prompts: 2 },
  },
  { name: 'forty', plant: heldOut(0), verdict: 'pass' },
]);

testStepCheck('B56.gold', [
  {
    name: 'all answers',
    plant: answered((answer) => `It is ${answer}.`),
    verdict: 'warn',
    measured: { told: 6 },
  },
  { name: 'the beginning of an answer', plant: answered(() => 'Let me think:'), verdict: 'pass' },
  {
    name: 'the same beginning for all, with one of the answers in it',
    plant: answered(() => 'Step 2 of 4, in 10 words or 8, 6 or 0:'),
    verdict: 'pass',
  },
  { name: 'a part of a word', plant: answered((answer) => `It is ${answer}7.`), verdict: 'pass' },
  { name: 'one of six', plant: answered((answer) => answer, 1), verdict: 'pass' },
  {
    name: 'the user’s own messages, made of question and answer',
    plant: asking((answer) => `What is it? ${answer}`),
    verdict: 'warn',
    measured: { told: 6, asked: true },
  },
  {
    name: 'the same as plain text with tags',
    plant: asking((answer) => `<|user|>What is it? ${answer}<|end|><|assistant|>`, true),
    verdict: 'warn',
    measured: { asked: true },
  },
  { name: 'prompts that are their own answers', plant: asking((answer) => `${answer}.`), verdict: 'pass' },
  {
    name: 'a question that ends in the answer of another row',
    plant: asking((_, p, answers) => `What is it? ${answers[(p + 1) % answers.length]}`),
    verdict: 'pass',
  },
  {
    name: 'a choice of two',
    plant: all(
      asking((_, p) => `${p}: yes or no`),
      (record) => {
        record.prompts!.answers = record.prompts!.answers!.map(() => 'no');
      },
    ),
    verdict: 'pass',
  },
]);

/** Conversations of a step, by the roles of what stands before each one's own question. */
const before = (rolesOf: (prompt: number) => readonly string[]) => (record: StepRecord) => {
  record.prompts!.messages = record.prompts!.messages!.map((_, p) => [
    ...rolesOf(p).map((role, i) => ({ role, content: `${i}` })),
    { role: 'user', content: `${rolesOf(p).length}` },
  ]);
};

testStepCheck('B56.grown', [
  {
    name: 'one list for all rows',
    plant: before((p) => Array<string>(p).fill('user')),
    verdict: 'warn',
    measured: { begun: 5 },
  },
  {
    name: 'turns of one conversation',
    plant: before((p) => Array.from({ length: 2 * p }, (_, i) => (i % 2 ? 'assistant' : 'user'))),
    verdict: 'pass',
  },
  { name: 'one prompt for all', plant: before(() => []), verdict: 'not applicable' },
  { name: 'conversations of their own', plant: () => {}, verdict: 'pass' },
]);

const asked = (question: string) => (record: StepRecord) => {
  const rest = record.prompts!.messages!.slice(1);
  record.prompts!.messages = [[{ role: 'user', content: question }], ...rest];
};

testStepCheck('B56.blank', [
  { name: 'a question of white space', plant: asked(' \n'), verdict: 'warn', measured: { blank: 1 } },
  { name: 'a short question', plant: asked('?'), verdict: 'pass' },
]);

const roleOf =
  (role: string, isOf: (prompt: number) => boolean) =>
  ({ prompts }: StepRecord) => {
    prompts!.messages = prompts!.messages!.map((_, p) => [
      { role: isOf(p) ? role : 'user', content: '1+1?' },
    ]);
  };

testStepCheck('B56.roles', [
  {
    name: 'one of another data set',
    plant: roleOf('human', (p) => p === 1),
    verdict: 'warn',
    measured: { other: 1, role: 'human' },
    evidence: { prompt: 1 },
  },
  { name: 'that of all', plant: roleOf('human', () => true), verdict: 'inform' },
  { name: 'one that is known', plant: roleOf('tool', (p) => p === 1), verdict: 'pass' },
]);

testStepCheck('B56.skipped', [
  {
    name: 'a batch that was fetched and dropped',
    plant({ probes }) {
      probes!.skipped = 8;
    },
    verdict: 'warn',
    measured: { skipped: 8 },
  },
  { name: 'none', plant: () => {}, verdict: 'pass' },
]);

testStepCheck('B56.discarded', [
  {
    name: 'a batch that was sampled three times',
    plant({ probes }) {
      probes!.discarded = 2;
    },
    verdict: 'warn',
    measured: { discarded: 2, times: 3 },
  },
  { name: 'one that was sampled once', plant: () => {}, verdict: 'pass' },
]);

describe('B56.again', () => {
  /** Records of these epochs, of which the last has the prompts of the first. */
  const judged = (epochs: readonly number[], changes: (record: StepRecord) => void = () => {}) => {
    const records = recordsOf(
      epochs.map((_, i) => i + 1),
      (record, step) => {
        record.probes!.epoch = epochs[step - 1]!;
      },
    );
    records.at(-1)!.prompts = structuredClone(records[0]!.prompts!);
    for (const record of records) changes(record);
    return judgeRun('B56.again', records);
  };

  it('warns of a batch that comes again in its epoch', () => {
    expect(judged([0.1, 0.2, 0.3])).toMatchObject({
      severity: 'warn',
      measured: { first: 1, again: 3 },
      evidence: [{ step: 3 }],
    });
  });

  it('passes the next epoch, and data of one batch', () => {
    expect(judged([0.5, 1, 1.5])).toMatchObject({ verdict: 'pass' });
    const { prompts } = recordsOf([1], () => {})[0]!;
    const same = judged([0.1, 0.2, 0.3], (record) => {
      record.prompts = prompts!;
    });
    expect(same).toMatchObject({ verdict: 'pass' });
  });
});

describe('B56.missing', () => {
  /** The last prompt of each record has no answer, and its completions earn `pays`. */
  const judged = (pays: number, has = false) =>
    judgeRun(
      'B56.missing',
      recordsOf([1, 2, 3], ({ completions, prompts, rewards }) => {
        const P = prompts!.lengths!.length;
        const isLast = (p: number) => p === P - 1;
        prompts!.answers = Array.from({ length: P }, (_, p) => (isLast(p) && !has ? null : '5'));
        prompts!.rows = Array.from({ length: P }, (_, p) => ({ [isLast(p) ? 'solution' : 'answer']: '5' }));
        rewards!.totals = Float64Array.from(completions!.prompt!, (p, b) => (isLast(p) ? pays : b % 2));
      }),
    );

  it('warns of rows without an answer that earn nothing, and names their own column', () => {
    expect(judged(0)).toMatchObject({ severity: 'warn', measured: { without: 3, column: 'solution' } });
  });

  it('passes where they earn something, have a reward of their own, or have an answer', () => {
    expect(judged(1)).toMatchObject({ verdict: 'pass' });
    expect(judged(Number.NaN)).toMatchObject({ verdict: 'pass' });
    expect(judged(0, true)).toMatchObject({ verdict: 'pass' });
  });
});
