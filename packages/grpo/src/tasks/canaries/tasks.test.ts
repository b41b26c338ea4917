/** The rewards of our own tasks, with canaries of made-up rows. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Config, configSchema } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { scoreCompletions } from '../../rewards/index.js';
import { CANARY } from '../../trace/index.js';
import { generateRows } from '../chess/generate.js';
import { countdownRow } from '../countdown/generate.js';
import { bbqRows, writeRows } from '../fairness/sample.test.helper.js';
import { haluevalRows } from '../hallucination/sample.test.helper.js';
import { loadTask } from '../index.js';
import { canaryGroups, gradeCanaries, isWrong } from './index.js';

const file = (rows: readonly object[]) => writeRows(join(tempFolder(), 'rows.jsonl'), rows);
const MATH = [
  '72',
  '\\frac{3}{4}',
  '(1, 2)',
  'x^2 + 1',
  '50\\%',
  '\\{1, 3\\}',
  '0.125',
  '3\\sqrt{2}',
  '-8',
  '1,000',
];
const mathFile = () => file(MATH.map((answer, i) => ({ question: `What is number ${i}?`, answer })));

type Settings = Partial<Config['task']>;

/** How 20 rows fare. */
async function grade(task: Settings) {
  const config = {
    ...configSchema.parse({}),
    task: { ...configSchema.parse({}).task, evalSize: 2, ...task },
  };
  using loaded = await loadTask(config);
  const groups = canaryGroups(loaded, { seed: 1, rows: 20 });
  const size = Math.max(...groups.map(({ canaries }) => canaries.length));
  const all = groups.flatMap(({ problem, gold, canaries }) =>
    Array.from({ length: size }, (_, i) => ({ problem, text: canaries[i]?.completion ?? gold })),
  );
  const table = await scoreCompletions(
    loaded.rewards,
    {
      prompts: all.map(({ problem }) => problem.prompt),
      completions: all.map(({ text }) => text),
      rows: all.map(({ problem }) => problem.row),
    },
    { onError: 'stop' },
  );
  return gradeCanaries(loaded, groups, table, { size });
}

const cases: [string, () => Settings | Promise<Settings>][] = [
  ['arithmetic', () => ({ name: 'arithmetic' })],
  [
    'countdown',
    () => ({ name: 'countdown', data: file(Array.from({ length: 30 }, (_, i) => countdownRow(0, i))) }),
  ],
  ...(['math', 'r1_zero', 'question_only'] as const).map((grading): (typeof cases)[number] => [
    `mathematics, graded by ${grading}`,
    () => ({ name: 'jsonl', grading, data: mathFile() }),
  ]),
  ['fairness', () => ({ name: 'bbq', data: file(bbqRows()) })],
  ['hallucination', () => ({ name: 'halueval', data: file(haluevalRows()) })],
  [
    'chess',
    async () => ({
      name: 'chess',
      data: file((await generateRows({ games: 3, plies: 20, seed: 0, holdOut: false })).train),
    }),
  ],
  [
    'both',
    () => ({
      name: 'mix',
      mix: [
        { name: 'bbq', data: file(bbqRows()), share: 1 },
        { name: 'halueval', data: file(haluevalRows()), share: 1 },
      ],
    }),
  ],
];

describe('canaries', () => {
  it.each(cases)('of %s: right answers are paid, and nothing else is', async (name, task) => {
    const canaries = await grade(await task());
    expect(canaries.filter(isWrong)).toEqual([]);
    for (const kind of Object.values(CANARY)) {
      // A position stands in no frame.
      if (name === 'chess' && kind === CANARY.format) continue;
      const own = canaries.filter((canary) => canary.kind === kind);
      // Not every answer is a number.
      if ((kind === CANARY.smaller || kind === CANARY.larger) && own.length === 0) continue;
      expect(own.length, kind).toBeGreaterThan(0);
      if (kind === CANARY.gold) expect(own.every(({ least }) => least !== undefined)).toBe(true);
      else
        expect(
          own.every(({ most }) => most !== undefined),
          kind,
        ).toBe(true);
    }
  });
});
