import type { Curve, FindingLink } from 'grpo/studio';
import { expect, it } from 'vitest';
import { layOut } from './layout.js';
import { marksIn, marksOf } from './marks.js';
import { recordsOf, stepToOpen } from './records.js';
import { spanOf, zoomedSpan } from './span.js';

const curve = (name: string, group: Curve['group'] = 'other', more: Partial<Curve> = {}): Curve => ({
  name,
  group,
  steps: Float64Array.of(1, 2),
  values: Float64Array.of(1, 2),
  ...more,
});
const RUN = {
  name: 'one',
  curves: [
    curve('beta'),
    curve('loss', 'gradient'),
    curve('completions/max_length', 'length'),
    curve('completions/mean_length', 'length', { band: { high: 9, says: 'short', source: 's' } }),
    curve('reward_std', 'reward'),
    curve('reward', 'reward'),
    curve('eval_reward', 'evaluation'),
    curve('eval_accuracy', 'evaluation'),
    curve('seconds/sample', 'time', { unit: 's' }),
    curve('seconds/update', 'time', { unit: 's' }),
  ],
};
const ALL = { isStack: true, filter: '' };
const shown = (sections: ReturnType<typeof layOut>) =>
  sections.map(({ title, charts }) => [
    title,
    charts.map((chart) => [chart.title, ...chart.lines.map(({ label }) => label)]),
  ]);

it('puts what is read together into one chart, in the order of a step', () => {
  const sections = layOut([RUN], ALL);
  expect(shown(sections)).toEqual([
    [
      'Reward',
      [
        ['reward', 'reward', 'reward, evaluated'],
        ['spread of the rewards', 'reward_std'],
      ],
    ],
    ['Lengths and cut-offs', [['completion length', 'max', 'mean']]],
    ['Gradient', [['loss', 'loss']]],
    ['Time', [['time per stage', 'sample', 'update']]],
    ['Evaluation', [['eval_accuracy', 'eval_accuracy']]],
    ['Other', [['beta', 'beta']]],
  ]);
  const [reward] = sections[0]!.charts;
  expect(reward!.lines.map(({ style, isMarks }) => [style, isMarks])).toEqual([
    [0, false],
    [0, true],
  ]);
  expect(sections[1]!.charts[0]!.bands).toEqual([{ high: 9, says: 'short', source: 's', label: 'mean' }]);
  expect(sections[3]!.charts[0]).toMatchObject({ isStack: true, unit: 's' });
});

it('shows times as a list', () => {
  const time = layOut([RUN], { ...ALL, isStack: false }).find(({ title }) => title === 'Time');
  expect(time!.charts.map(({ title, isStack }) => [title, isStack])).toEqual([
    ['time per stage: sample', false],
    ['time per stage: update', false],
  ]);
});

it('gives each metric of several runs a chart with a line per run', () => {
  const other = { name: 'two', curves: [curve('reward', 'reward'), curve('kl', 'policy')] };
  const sections = layOut([RUN, other], ALL);
  expect(sections[0]!.charts[0]!.lines.map(({ label, style }) => [label, style])).toEqual([
    ['one', 0],
    ['two', 1],
  ]);
  expect(sections.find(({ title }) => title.startsWith('Policy'))!.charts[0]!.lines).toHaveLength(1);
  expect(sections[1]!.charts.map(({ title }) => title)).toEqual([
    'completion length: max',
    'completion length: mean',
  ]);
});

it('keeps charts with all words in their title or names', () => {
  expect(shown(layOut([RUN], { ...ALL, filter: 'LENGTH max' }))).toEqual([
    ['Lengths and cut-offs', [['completion length', 'max', 'mean']]],
  ]);
  expect(layOut([RUN], { ...ALL, filter: 'nothing' })).toEqual([]);
});

it('marks a finding where it begins, on charts that it cites', () => {
  const link = (code: string, steps: number[], metric?: string) =>
    ({
      finding: { code, severity: 'warn', steps },
      label: code,
      says: '',
      places: [{ text: '', ...(metric !== undefined && { metric }), step: 7 }],
    }) as unknown as FindingLink;
  const marks = marksOf([link('B30.log', [9, 10]), link('B51.kl', [2], 'kl'), link('B01.x', [])]);
  expect(marks.map(({ code, step }) => [code, step])).toEqual([
    ['B51.kl', 2],
    ['B01.x', 7],
    ['B30.log', 9],
  ]);
  const [section] = layOut([{ name: 'one', curves: [curve('kl', 'policy')] }], ALL);
  expect(marksIn(marks, section!.charts[0]!, false).map(({ code }) => code)).toEqual(['B51.kl']);
  expect(marksIn(marks, section!.charts[0]!, true)).toHaveLength(3);
});

it('opens a whole record that is near before one of texts', () => {
  const entries = Array.from({ length: 100 }, (_, i) => ({ step: i + 1, isWhole: i + 1 === 50 }));
  const records = recordsOf(entries);
  expect(stepToOpen(records, 49, [1, 100])).toBe(50);
  expect(stepToOpen(records, 20, [1, 100])).toBe(20);
  expect(stepToOpen(records, 49, [45, 55])).toBe(49);
  expect(stepToOpen(recordsOf([]), 1, [1, 100])).toBeUndefined();
});

it('zooms to steps of the run, and to nothing else', () => {
  const whole = spanOf([RUN, { curves: [curve('x', 'other', { steps: Float64Array.of(-3, 90) })] }]);
  expect(whole).toEqual([-3, 90]);
  expect(zoomedSpan({ from: '5', to: '200' }, whole)).toEqual([5, 90]);
  for (const query of [
    {},
    { from: '5' },
    { from: 'x', to: '9' },
    { from: '9', to: '5' },
    { from: '-9', to: '99' },
  ])
    expect(zoomedSpan(query as Record<string, string>, whole)).toBeUndefined();
  expect(spanOf([{ curves: [curve('x', 'other', { steps: Float64Array.of(4) })] }])).toEqual([3, 5]);
  expect(spanOf([])).toEqual([0, 1]);
});
