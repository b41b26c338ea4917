import { percent } from '../../doctor/sentence.js';
import type { Estimate } from '../../evaluation/eval-score.js';
import { signed } from '../cells.js';
import { alignWithin, pageWidth, wrap } from '../text-layout.js';
import { type ArmEnd, type ArmResult, rewardDifference } from './arm-result.js';
import type { Axis } from './axes.js';

/** An arm of a sweep that has been run. */
export interface Arm extends ArmEnd {
  settings: readonly string[];
  result: ArmResult;
}

/** The table of a sweep: a row per arm, and what the arms differ in beyond chance. */
export function sweepTable(axes: readonly Axis[], arms: readonly Arm[]): string {
  const [first] = arms as [Arm, ...Arm[]];
  const differences = arms.map((arm) => rewardDifference(arm.result, first.result));
  const names = axes.map(({ key }, k) => [
    key.split('.').at(-1)!,
    ...arms.map(({ settings }) => settings[k]!.slice(key.length + 1)),
  ]);
  const columns: [head: string, cell: (arm: Arm, i: number) => string | undefined][] = [
    ...(isOneNumber(arms.map(({ result }) => result.steps))
      ? []
      : [['steps', ({ result }: Arm) => String(result.steps)] as [string, (arm: Arm) => string]]),
    ['reward', ({ result }) => arrow(result.reward, 3)],
    ['evaluated', ({ result }) => result.evaluated?.mean.toFixed(3)],
    ['against the first', (_, i) => (i === 0 ? undefined : interval(differences[i]))],
    ['signal', ({ result: { signal } }) => (signal === undefined ? undefined : percent(signal))],
    ['entropy', ({ result }) => arrow(result.entropy, 2)],
    ['KL', ({ result }) => result.kl?.to.toPrecision(2)],
    [
      'gradient',
      ({ result: { gradient } }) => gradient && `${short(gradient.mean)} ± ${short(gradient.deviation)}`,
    ],
    ['length', ({ result }) => arrow(result.length, 0)],
    ['found', ({ result }) => result.findings[0]],
  ];
  const shown = columns.filter(([, cell]) => arms.some((arm, i) => cell(arm, i) !== undefined));
  const early = arms
    .filter(({ because }) => because !== undefined)
    .map(({ settings, because }) => `${settings.join(' ')} ended early: ${because}`);
  if (arms.every(({ result }) => result.steps === 0)) return ['No arm has done a step.', ...early].join('\n');
  return [
    ...alignWithin(
      names,
      shown.map(([head, cell]) => [head, ...arms.map((arm, i) => cell(arm, i) ?? '–')]),
      pageWidth(),
    ),
    '',
    ...early,
    ...wrap(LEGEND, pageWidth()),
    ...wrap(verdict(arms, differences), pageWidth()),
  ].join('\n');
}

const LEGEND =
  'Means of the first and the last fifth of the steps; signal: groups with different rewards; gradient: mean and deviation over the steps; evaluated: mean greedy reward on held-out problems.';

/** Whether any arm is told apart from the first by its evaluation. */
function verdict(arms: readonly Arm[], differences: readonly (Estimate | undefined)[]): string {
  if (differences.every((own) => own === undefined))
    return 'No arm was evaluated on held-out problems, so that only the noisy rewards of training tell them apart.';
  const apart = differences.flatMap((own, i) =>
    own?.low != null && (own.low > 0 || own.high! < 0)
      ? [`${arms[i]!.settings.join(' ')} ${own.mean > 0 ? 'earns more' : 'earns less'}`]
      : [],
  );
  const others = arms.length - 1 - apart.length;
  if (apart.length === 0) return 'No arm is told apart from the first: every 95 % interval holds 0.';
  const rest = others > 0 ? ` The other ${others === 1 ? 'one' : others} cannot be told apart from it.` : '';
  return `Beyond chance, against ${arms[0]!.settings.join(' ')}: ${apart.join('; ')}.${rest}`;
}

const isOneNumber = (values: readonly number[]) => new Set(values).size === 1;

const arrow = (value: { from: number; to: number } | undefined, digits: number) =>
  value && `${value.from.toFixed(digits)} → ${value.to.toFixed(digits)}`;

const short = (value: number) => Number(value.toPrecision(2)).toString();

function interval(estimate: Estimate | undefined): string | undefined {
  if (!estimate) return undefined;
  const { mean, low, high } = estimate;
  return low === null ? signed(mean) : `${signed(mean)} (${signed(low)} to ${signed(high!)})`;
}
