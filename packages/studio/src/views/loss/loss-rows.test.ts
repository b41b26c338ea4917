import type { LossAnswer } from 'grpo/studio';
import { expect, it } from 'vitest';
import { isRounding, lossRows, type Opened, openedOf, openedText } from './loss-rows.js';

const groups: LossAnswer['groups'] = [
  {
    prompt: 0,
    value: 0.1,
    completions: [
      { index: 0, name: '0.0', policy: 0.3, kl: 0.1 },
      { index: 1, name: '0.1', policy: -0.3, kl: 0 },
    ],
  },
  { prompt: 1, value: -0.4, completions: [{ index: 2, name: '1.0', policy: -0.5, kl: 0.05, entropy: 0.05 }] },
];
const none: Opened = { groups: new Set<number>(), completion: undefined };
const rowsOf = (opened = none, tokens?: Parameters<typeof lossRows>[3], isBySize = true) =>
  lossRows(groups, undefined, opened, tokens, (token) => `t${token}`, isBySize);

it('puts the largest group first, with its share of all sizes', () => {
  const rows = rowsOf();
  expect(rows.map(({ name, share, bar }) => [name, share, bar])).toEqual([
    ['prompt 1', 0.8, -1],
    ['prompt 0', 0.2, 0.25],
  ]);
  expect(rowsOf(none, undefined, false).map(({ index }) => index)).toEqual([0, 1]);
});

it('opens a group and one completion of it, whose tokens add up to it', () => {
  const tokens = { policy: Float64Array.of(0.1, 0.2), kl: Float64Array.of(0, 0.1) };
  const rows = rowsOf({ groups: new Set([0]), completion: 0 }, tokens);
  expect(rows.map(({ kind, index }) => `${kind} ${index}`)).toEqual([
    'group 1',
    'group 0',
    'completion 0',
    'token 1',
    'token 0',
    'completion 1',
  ]);
  const sum = rows.filter(({ kind }) => kind === 'token').reduce((all, { value }) => all + value, 0);
  expect(sum).toBeCloseTo(rows.find(({ kind, index }) => kind === 'completion' && index === 0)!.value, 12);
});

it('shows what other settings would add beside what was recorded, never instead of it', () => {
  const other = groups.map((group) => ({ ...group, value: group.value + 1 }));
  const [first] = lossRows(groups, other, none, undefined, () => '', true);
  expect([first?.value, first?.hypothetical, first?.difference]).toEqual([-0.4, 0.6, 1]);
});

it('takes a difference of rounding for none, at every level', () => {
  const moved = (by: number) =>
    groups.map((group) => ({
      ...group,
      value: group.value + by,
      completions: group.completions.map((one) => ({ ...one, policy: one.policy + by })),
    }));
  const tokens = (by: number) => ({
    policy: Float64Array.of(0.1, 0.2),
    kl: Float64Array.of(0, 0.1),
    hypothetical: { policy: Float64Array.of(0.1 + by, 0.2), kl: Float64Array.of(0, 0.1) },
  });
  const opened: Opened = { groups: new Set([0]), completion: 0 };
  const differences = (by: number) =>
    lossRows(groups, moved(by), opened, tokens(by), () => '', false).map(({ difference }) => difference!);
  expect(differences(1e-9)).toEqual([0, 0, 0, 0, 0, 0]);
  // One clipped token of thousands is a change.
  expect(differences(1e-6).map((one) => Number(one.toPrecision(4)))).toEqual([
    1e-6, 1e-6, 1e-6, 0, 1e-6, 1e-6,
  ]);
});

it('does not let one NaN hide the others', () => {
  const sick = [{ prompt: 7, value: Number.NaN, completions: [] }, ...groups];
  const rows = lossRows(sick, undefined, none, undefined, () => '', true);
  expect(rows.map(({ share }) => share)).toEqual([Number.NaN, 0.8, 0.2]);
});

it('tells rounding from a loss that is another', () => {
  expect(isRounding(-0.3 - Math.fround(-0.3), groups)).toBe(true);
  expect([0.0003, Number.NaN].map((difference) => isRounding(difference, groups))).toEqual([false, false]);
});

it('reads what is open from the address, and writes it', () => {
  const opened = openedOf('g2,c17,x,g,g3');
  expect([[...opened.groups], opened.completion]).toEqual([[2, 3], 17]);
  expect(openedText(opened)).toBe('g2,g3,c17');
  expect(openedOf(undefined)).toEqual(none);
});
