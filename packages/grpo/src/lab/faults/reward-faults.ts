/** Rewards are not those of the completions. */
import { scoreCompletions } from '../../rewards/index.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { type LettersRow, lettersTask, rightPlaces } from '../letters-task.js';
import type { PlantedFault } from './planted-fault.js';

/** Scores as usual, then changes each reward's values. */
const rescored =
  (change: (values: Float64Array, groupSize: number) => Float64Array): Stages['score'] =>
  async (task, problems, groups, onError) => {
    const table = await standard.score(task, problems, groups, onError);
    return { ...table, columns: table.columns.map((column) => change(column, groups[0]!.length)) };
  };

const unsteady = (completion: string, row: LettersRow) => {
  if (completion.length % 2 === 0) throw new Error('judge unreachable');
  return rightPlaces(completion, row) + completion.length / 50;
};

export const rewardFaults: readonly PlantedFault[] = [
  {
    code: 'B20',
    variants: [
      {
        name: 'texts without their last character',
        run: () => ({
          stages: {
            async sample(...args) {
              const groups = await standard.sample(...args);
              return groups.map((group) => group.map((one) => ({ ...one, text: one.text.slice(0, -1) })));
            },
          },
        }),
      },
      {
        name: 'message lists in place of text, 0.5 for what is no text',
        run: () => ({
          task: lettersTask({
            rewards: {
              right: (completion, row) =>
                typeof completion === 'string' ? rightPlaces(completion, row) : 0.5,
            },
          }),
          stages: {
            async score(task, problems, groups, onError) {
              const rows = problems.flatMap((problem, p) =>
                groups[p]!.map((completion) => ({ problem, completion })),
              );
              const messages = rows.map(({ completion }) => [
                { role: 'assistant', content: completion.text },
              ]);
              const batch = {
                prompts: rows.map(({ problem }) => problem.prompt),
                completions: messages as unknown as string[],
                rows: rows.map(({ problem }) => problem.row),
              };
              return {
                ...(await scoreCompletions(task.rewards, batch, { onError })),
                facts: { inputType: 'messages' },
              };
            },
          },
        }),
        // The reward itself, asked again, gives other values.
        orAs: ['H03'],
      },
      {
        name: 'the answer looked for under a name that rows do not have',
        run: () => ({
          task: lettersTask({
            rewards: { right: (_, row) => ((row as { solution?: string }).solution === undefined ? 0.3 : 1) },
          }),
        }),
      },
    ],
  },
  {
    code: 'B21',
    variants: [
      {
        name: 'answers in the order of the prompts, over and over',
        run: () => ({
          // It shows where completions are equal.
          settings: ['rollout.temperature=0.7', 'rollout.group=8'],
          stages: {
            score: async (task, problems, groups, onError) => {
              const rows = problems.flatMap((_, p) => groups[p]!);
              const batch = {
                prompts: rows.map((_, b) => problems[b % problems.length]!.prompt),
                completions: rows.map(({ text }) => text),
                rows: rows.map((_, b) => problems[b % problems.length]!.row),
              };
              return scoreCompletions(task.rewards, batch, { onError });
            },
          },
        }),
      },
      {
        name: 'a reward that does not look at the row',
        run: () => ({
          task: lettersTask({
            rewards: {
              right: (completion) =>
                Number(/^[a-h]+\.$/.test(completion)) + Math.min(9, completion.length) / 90,
            },
          }),
        }),
      },
      {
        name: 'rows in another order than completions',
        run: () => ({
          stages: {
            score: (task, problems, groups, onError) =>
              standard.score(task, [...problems.slice(1), problems[0]!], groups, onError),
          },
        }),
      },
      {
        name: 'each reward given to the completion before',
        run: () => ({
          stages: { score: rescored((values) => values.map((_, b) => values[(b + 1) % values.length]!)) },
        }),
      },
      {
        name: 'rewards in the reverse order of completions',
        run: () => ({ stages: { score: rescored((values) => values.toReversed()) } }),
      },
      {
        name: 'one value a prompt, handed out in turn',
        run: () => ({
          stages: {
            score: rescored((values, group) =>
              values.map((_, b) => values[(b % (values.length / group)) * group]!),
            ),
          },
        }),
      },
    ],
  },
  {
    code: 'B23',
    variants: [
      {
        name: 'an error at right answers, paid with 0',
        run: () => ({
          task: lettersTask({
            rewards: {
              right: (completion, row) => {
                try {
                  if (completion === row.answer) throw new Error('timed out');
                  return rightPlaces(completion, row) + 0.01;
                } catch {
                  return 0;
                }
              },
            },
          }),
        }),
      },
    ],
  },
  {
    code: 'B26',
    variants: [
      {
        name: 'a blank counts as right',
        run: () => ({
          task: lettersTask({
            rewards: {
              right: (completion, row) =>
                row.answer.includes(completion.trim()) ? 1 : rightPlaces(completion, row),
            },
          }),
        }),
      },
      {
        name: 'all options at once count as right',
        run: () => ({
          task: lettersTask({
            rewards: {
              right: (completion, row) =>
                completion.includes(row.answer) ? 1 : rightPlaces(completion, row),
            },
          }),
        }),
      },
    ],
  },
  {
    code: 'B22',
    variants: [
      {
        name: 'a judge that fails for a third of the completions',
        run: () => ({
          task: lettersTask({ rewards: { judge: unsteady } }),
          settings: ['onRewardError=drop'],
        }),
      },
      {
        name: 'each failure paid with −0.5',
        run: () => ({
          task: lettersTask({ rewards: { judge: unsteady } }),
          stages: {
            async score(task, problems, groups) {
              const table = await standard.score(task, problems, groups, 'drop');
              return {
                ...table,
                columns: table.columns.map((column) =>
                  column.map((value) => (Number.isNaN(value) ? -0.5 : value)),
                ),
                unscored: new Uint8Array(table.unscored.length),
                failures: [],
                facts: { fallbacks: [-0.5] },
              };
            },
          },
        }),
      },
    ],
  },
  {
    code: 'B24',
    variants: [
      {
        name: 'a model from 0 to 1 and rules from −1 to 1, in turn',
        run: () => ({
          stages: {
            async score(...args) {
              const table = await standard.score(...args);
              return {
                ...table,
                columns: table.columns.map((column) =>
                  column.map((value, b) => (b % 2 ? value : 2 * value - 1)),
                ),
                facts: { providers: Array.from(table.unscored, (_, b) => (b % 2 ? 'model' : 'rules')) },
              };
            },
          },
        }),
        orAs: ['H03'],
      },
    ],
  },
  {
    code: 'B27',
    variants: [
      {
        name: 'exact match without the full stop that answers have',
        run: () => ({
          task: lettersTask({
            lengths: [2],
            rewards: {
              exact: (completion, { answer }) => Number(completion === answer.slice(0, -1)),
              // Some other reward, or every group would be flat.
              brief: { each: (completion) => Number(completion.length < 2), weight: 0.5 },
            },
          }),
          settings: ['rollout.prompts=8'],
        }),
        // Right answers earn what wrong ones do, which is all that can be seen.
        orAs: ['B20', 'B23', 'B30'],
      },
    ],
  },
  {
    code: 'B28',
    variants: [
      {
        name: 'a pattern that never matches, for 20 steps',
        run: () => ({
          steps: 20,
          settings: ['rollout.prompts=2'],
          task: lettersTask({
            rewards: {
              right: rightPlaces,
              tagged: (completion) => Number(/<answer>\n.*<\/answer>/.test(completion)),
            },
          }),
        }),
      },
    ],
  },
  {
    code: 'B30',
    variants: [
      {
        name: 'a reward of the prompt alone, for 6 steps',
        run: () => ({
          steps: 6,
          task: lettersTask({ rewards: { hard: (_, { question }) => question.length / 10 } }),
        }),
        // Questions may all be of one length.
        orAs: ['B20'],
      },
      {
        name: 'the mean of the group for each of its completions, for 6 steps',
        run: () => ({
          steps: 6,
          stages: {
            score: rescored((values, group) =>
              values.map((_, b) => {
                const own = values.subarray(b - (b % group), b - (b % group) + group);
                return own.reduce((a, c) => a + c, 0) / group;
              }),
            ),
          },
        }),
        // Graded again, a completion earns what is its own.
        orAs: ['H03'],
      },
    ],
  },
];
