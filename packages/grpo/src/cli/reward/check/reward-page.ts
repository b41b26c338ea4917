import { counted } from '../../../errors/counted.js';
import { excerpt } from '../../../errors/printable.js';
import { mean } from '../../../maths/moments.js';
import { describeFailures, type RewardFailure } from '../../../rewards/index.js';
import { type GradedCanary, isMisjudged, isWrong } from '../../../tasks/canaries/index.js';
import { CANARY } from '../../../trace/index.js';
import { alignColumns } from '../../text-layout.js';

export interface RewardReport {
  task: string;
  rows: number;
  /** Whether the task can tell right from wrong. */
  tells: boolean;
  rewards: { name: string; weight: number }[];
  canaries: GradedCanary[];
  failures: RewardFailure[];
  judges: { numbers: Record<string, number>; alarms: string[] };
  seconds: number;
}

export const isClean = ({ canaries, failures }: RewardReport): boolean =>
  failures.length === 0 && !canaries.some(isWrong) && !isConstant(canaries);

/** Whether no canary differs from another. */
function isConstant(canaries: readonly GradedCanary[]): boolean {
  const known = canaries.flatMap(({ total }) => total ?? []);
  return known.length > 1 && known.every((total) => total === known[0]);
}

export function rewardPage(report: RewardReport): string {
  const { task, rows, rewards, canaries, failures, judges, seconds } = report;
  const count = `${canaries.length} completions of ${counted(rows, 'row')} of ${task}`;
  const weights = rewards.map(({ name, weight }) => `${name} × ${weight}`).join(' + ');
  const parts = [
    `${count}, graded in ${seconds.toFixed(2)} s as training grades them. Means over the rows; total = ${weights}`,
    alignColumns(tableOf(report)).join('\n'),
    ...(failures.length > 0 ? [describeFailures(failures)] : []),
    ...judgeLines(judges),
    verdict(report),
  ];
  return `${parts.join('\n\n')}\n`;
}

function tableOf({ rewards, canaries, tells }: RewardReport): string[][] {
  const kinds = Object.values(CANARY).filter((kind) => canaries.some((canary) => canary.kind === kind));
  const head = ['', ...rewards.map(({ name }) => name), 'total', ...(tells ? ['right'] : [])];
  const rows = kinds.map((kind) => {
    const own = canaries.filter((canary) => canary.kind === kind);
    return [
      kind,
      ...rewards.map((_, k) => shownMean(own.map(({ values }) => values[k]!))),
      shownMean(own.map(({ total }) => total)),
      ...(tells ? [`${own.filter(({ correct }) => correct).length} of ${own.length}`] : []),
    ];
  });
  return [head, ...rows];
}

function shownMean(values: readonly (number | null)[]): string {
  const known = values.flatMap((value) => value ?? []);
  return known.length === 0 ? '–' : mean(known).toFixed(3);
}

function judgeLines({ numbers, alarms }: RewardReport['judges']): string[] {
  const requests = Object.entries(numbers).flatMap(([name, count]) => {
    const [, judge] = /^judge\/(.*)\/requests$/.exec(name) ?? [];
    return judge === undefined ? [] : [`The judge ${judge} took ${count} requests.`];
  });
  const lines = [...requests, ...alarms];
  return lines.length > 0 ? [lines.join('\n')] : [];
}

/** The verdict in words: canaries that pass, by which rule, or why a right answer counts as wrong. */
function verdict({ canaries, tells, failures }: RewardReport): string {
  if (isConstant(canaries))
    return `All of them earn exactly ${canaries.find(({ total }) => total !== null)!.total}, right answers and blanks alike: this reward teaches nothing.`;
  const wrong = canaries.filter(isWrong);
  const lines = Object.values(CANARY).flatMap((kind) => {
    const own = wrong.filter((canary) => canary.kind === kind);
    return own.length === 0 ? [] : [sentence(own, canaries)];
  });
  if (lines.length > 0) return lines.join('\n');
  if (failures.length > 0) return 'Some rewards failed, see above.';
  return tells
    ? 'Right answers are graded as right, and nothing else is paid as they are.'
    : 'Blanks and copied prompts are paid no more than the demonstrations. Nothing else can be checked: this task has no right answers to compare with.';
}

/** All that is wrong with one kind, by its first. */
function sentence(own: readonly GradedCanary[], all: readonly GradedCanary[]): string {
  const [first] = own as [GradedCanary];
  const { kind, row, completion, correct, total, least, leak } = first;
  const rows = all.filter((canary) => canary.kind === kind).length;
  const { reward, rule } = leak ?? first;
  const by = `${reward}${rule === null ? '' : `: ${rule}`}`;
  const gold = all.find((canary) => canary.kind === CANARY.gold && canary.row === row)!;
  const why =
    kind === CANARY.gold
      ? correct === false
        ? `the task does not take it for right (${by})`
        : total === null
          ? 'it could not be graded'
          : `it earns ${number(total)}, less than ${number(least!)} (${by})`
      : isMisjudged(kind, correct)
        ? `the task takes it for right (${by})`
        : leak
          ? `it earns ${number(leak.paid)} there, no less than the right answer (${by})`
          : `it earns ${number(total!)}, the right answer ${number(gold.total!)} (${by})`;
  return `${kind}: ${own.length} of ${rows} rows are wrong. ${excerpt(completion)}: ${why}.`;
}

const number = (value: number) => String(Number(value.toFixed(4)));
