import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../lab/lab-policy.js';
import type { LabRun } from '../lab/lab-run.js';
import { lettersTask } from '../lab/letters-task.js';
import { tinyModel } from '../run/tiny-model.test.helper.js';
import { stages as standard } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { Supply } from '../tasks/order/supply.js';
import type { Problem, Task } from '../tasks/task.js';
import { ChatTemplate } from '../text/chat-template.js';
import type { RenderedPrompt } from '../text/render.js';
import { comparisonsOf, disagreements } from './audit.test.helper.js';
import { plainPrompt } from './prompt.js';

afterAll(disposePolicies);

/** A run in which prompts are rendered, and then changed. */
const rendering = (change: (prompts: RenderedPrompt[]) => RenderedPrompt[], more: LabRun = {}): LabRun => ({
  ...more,
  stages: { render: (...args) => change(standard.render(...args)) },
});

/** A run whose steps take other problems. */
const supplying = (
  take: (own: Problem[], count: number, task: Task) => Problem[],
  more: LabRun = {},
): LabRun => ({
  ...more,
  steps: 3,
  plant(trainer: Trainer) {
    const supply = trainer.supply!;
    return { supply: { take: (count) => take([...supply.take(count)], count, trainer.task) } };
  },
});

const withIds = (change: (ids: number[]) => number[]) =>
  rendering((prompts) => prompts.map((one) => ({ ...one, ids: change(one.ids) })));

/** Each problem twice in the data, as one that is to count for more. */
function repeated(): Task {
  const task = lettersTask({ count: 20 });
  return { ...task, train: [...task.train, ...task.train] };
}

const ORDER = "row of the data in the seed's order";

/** The batch of the first step in every step. */
function repeating(): LabRun {
  let first: Problem[] | undefined;
  return supplying((own) => {
    first ??= own;
    return first;
  });
}

describe('a prompt', () => {
  it.each<[string, LabRun, string[]]>([
    [
      'of another row',
      rendering((prompts) => [prompts[1]!, prompts[0]!, ...prompts.slice(2)]),
      ['text of the prompt', 'text that the ids stand for', 'ids of the prompt'],
    ],
    [
      'of the first row for all',
      rendering((prompts) => prompts.map(() => prompts[0]!)),
      [
        'first prompt with the same ids',
        'text of the prompt',
        'text that the ids stand for',
        'ids of the prompt',
      ],
    ],
    [
      'with a second BOS',
      withIds((ids) => [ids[0]!, ...ids]),
      ['text that the ids stand for', 'ids of the prompt'],
    ],
    ['without its BOS', withIds((ids) => ids.slice(1)), ['text that the ids stand for', 'ids of the prompt']],
    [
      'without its last token',
      withIds((ids) => ids.slice(0, -1)),
      ['text that the ids stand for', 'ids of the prompt'],
    ],
    [
      'whose turn of the assistant is not opened',
      {
        stages: {
          render: (model, problems) =>
            problems.map(({ prompt }) => {
              const named = { addGenerationPrompt: false, namedTokens: model.tokenizer.namedTokens };
              const text = model.template!.render(prompt as never, named);
              return { text, ids: model.tokenizer.encode(text), spans: [] };
            }),
        },
      },
      ['text of the prompt', 'text that the ids stand for', 'ids of the prompt'],
    ],
    [
      'in single characters, where the tokenizer joins them',
      {
        task: lettersTask({ lengths: [8], count: 60 }),
        stages: {
          render: (...args) =>
            standard.render(...args).map((one) => ({
              ...one,
              ids: one.ids.flatMap((id) => {
                const { tokenizer } = args[0];
                const text = tokenizer.decode([id]);
                return text.startsWith('<') ? [id] : [...text].flatMap((letter) => tokenizer.encode(letter));
              }),
            })),
        },
      },
      ['ids of the prompt'],
    ],
  ])('%s is found', async (_, run, quantities) => {
    expect(await disagreements('prompt', run)).toEqual(quantities);
  });
});

describe('what a row asks', () => {
  /** Problems as a file has them, asked behind a system message or without one. */
  const asking = (system?: string): LabRun => ({
    task: { ...lettersTask(system === undefined ? {} : { system }), name: 'jsonl' },
    settings: ['task.system=Put the letters in order.'],
  });

  it('stands in its prompt, behind the declared system message', async () => {
    expect(await disagreements('prompt', asking('Put the letters in order.'))).toEqual([]);
    expect(await disagreements('prompt', asking())).toEqual(['system message in the prompt']);
    expect(await disagreements('prompt', asking('Be brief.'))).toEqual(['system message in the prompt']);
    const other = asking('Put the letters in order.');
    const task = {
      ...other.task!,
      train: other.task!.train.map((one) => ({ ...one, row: { ...(one.row as object), question: 'zzz' } })),
    };
    expect(await disagreements('prompt', { ...other, task })).toContain('question in the prompt');
  });
});

/** Takes problems, of which so many were taken before. */
type Taking = (taken: number, count: number) => readonly Problem[];

/** Only what a step takes for itself, its five problems, moves the order on. */
const refillsThatStay = (_: unknown, { train }: Task, seed = 0): Taking => {
  let begun = 0;
  return (_taken, count) => {
    const own = new Supply(train, seed, { problems: begun }).take(count);
    if (count === 5) begun += count;
    return own;
  };
};

describe('the order of the data', () => {
  it.each<[string, LabRun]>([
    [
      'from the second problem on',
      supplying((own, _, task) => own.map((one) => task.train[task.train.indexOf(one) + 1] ?? one)),
    ],
    ['backwards', supplying((own) => own.reverse())],
    ['the same batch in each step', repeating()],
    ['each problem twice', supplying((own) => own.map((_, i) => own[i - (i % 2)]!))],
    ['the file from its beginning', supplying((own, count, task) => own && task.train.slice(0, count))],
    ['problems that are held out', supplying((own, _, task) => [...own.slice(1), ...task.eval.slice(0, 1)])],
  ])('%s is found', async (_, run) => {
    expect(await disagreements('run', run)).toEqual([ORDER]);
  });

  it.each<[string, LabRun]>([
    ['another seed', { seed: 7, steps: 3 }],
    ['more steps than an epoch has', { steps: 4, task: lettersTask({ count: 12 }) }],
    ['data that repeat problems', { steps: 4, task: repeated() }],
    ['refills', { steps: 4, settings: ['groups.refills=2', 'advantage.flatBelow=0.1'] }],
    [
      'a run that was resumed, and had taken more problems in its steps',
      {
        steps: 2,
        plant: ({ task, config }) => ({
          begun: { steps: 0, problems: 13 },
          supply: new Supply(task.train, config.seed, { problems: 13 }),
        }),
      },
    ],
  ])('of %s agrees', async (_, run) => {
    const compared = (await comparisonsOf(run)).filter(({ quantity }) => quantity === ORDER);
    expect(compared.every(({ deviation }) => deviation === 0)).toBe(true);
    expect(compared.length).toBeGreaterThan(0);
  });

  it.each<[string, RegExp, (take: (count: number) => readonly Problem[], task: Task) => Taking]>([
    ['refills that do not move it on', /^the seed's order \d+ rows? earlier$/, refillsThatStay],
    [
      'the file as it is',
      /^the order of the file$/,
      (_, { train }) =>
        (at, count) =>
          train.slice(at, at + count),
    ],
  ])('of %s is explained: %s', async (_, what, takeOf) => {
    let at = 0;
    const run: LabRun = {
      steps: 5,
      settings: ['groups.refills=2', 'advantage.flatBelow=0.1', 'rollout.prompts=5'],
      plant: ({ supply, task }) => {
        const take = takeOf((count) => supply!.take(count), task);
        const taking = (count: number) => {
          const own = take(at, count);
          at += count;
          return own;
        };
        return { supply: { take: taking } };
      },
    };
    const off = (await comparisonsOf(run)).find(
      ({ quantity, deviation }) => quantity === ORDER && deviation > 0,
    );
    expect(off!.explained).toMatch(what);
  });

  it('of a mixture agrees, and is found where a task has too many turns', async () => {
    const mixed = lettersTask();
    const task: Task = {
      ...mixed,
      train: mixed.train.map((problem, i) => ({
        ...problem,
        row: { ...problem.row, task: i % 3 ? 'a' : 'b' },
      })),
      shares: { a: 1, b: 3 },
    };
    const withShares = (shares: Task['shares']): LabRun => ({
      task,
      steps: 6,
      settings: ['rollout.prompts=5'],
      plant: (trainer) => ({ supply: new Supply(task.train, trainer.config.seed, {}, shares) }),
    });
    expect(await disagreements('run', withShares(task.shares))).toEqual([]);
    expect(await disagreements('run', withShares({ a: 3, b: 1 }))).toEqual([ORDER]);
    expect(await disagreements('run', withShares(undefined))).toEqual([ORDER]);
  });
});

it('a prompt by the plain path is that of the source of the template, whatever renders for training', async () => {
  const { tokenizer } = await tinyModel();
  const source = '{{ messages[0].content }}{% if add_generation_prompt %}=\n{% endif %}';
  const template = new ChatTemplate(source);
  const problem: Problem = { prompt: [{ role: 'user', content: '1+1' }], row: {} };
  template.render = () => '1+1=';
  expect(plainPrompt({ tokenizer, template }, problem).text).toBe('1+1=\n');
});
