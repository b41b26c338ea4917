/** What a campaign came to, in words and in counts. */
import type { CampaignResult, Outcome } from './campaign.js';
import { STEPS } from './configurations.js';

/** What the doctor made of a wrong mutant; the first that holds. */
export type Fate = 'stopped at its stage' | 'stopped elsewhere' | 'failed afterwards' | 'warned' | 'silent';

const FATES: readonly Fate[] = [
  'stopped at its stage',
  'stopped elsewhere',
  'failed afterwards',
  'warned',
  'silent',
];

export interface Counts {
  sites: number;
  drawn: number;
  none: number;
  anotherDraw: number;
  crashed: number;
  wrong: number;
  fates: Record<Fate, number>;
  cleanSteps: number;
  falseFailures: number;
}

/** The fate of a wrong mutant; warnings that clean runs of its configuration have, too, say nothing of it. */
export function fateOf({ verdict, stages, configuration }: Outcome, { clean }: CampaignResult): Fate {
  const { stopped, failed, warned } = verdict!;
  if (stopped) return stages.includes(stopped.stage) ? 'stopped at its stage' : 'stopped elsewhere';
  if (failed.length > 0) return 'failed afterwards';
  const usual = new Set(clean[configuration]!.verdicts.flatMap((one) => one.warned));
  return warned.some((code) => !usual.has(code)) ? 'warned' : 'silent';
}

export function countsOf(result: CampaignResult): Counts {
  const { outcomes, clean, sites } = result;
  const of = (effect: Outcome['effect']) => outcomes.filter((outcome) => outcome.effect === effect);
  const fates = of('wrong').map((outcome) => fateOf(outcome, result));
  const verdicts = clean.flatMap((one) => one.verdicts);
  return {
    sites,
    drawn: outcomes.length,
    none: of('none').length,
    anotherDraw: of('another draw').length,
    crashed: of('crashed').length,
    wrong: fates.length,
    fates: Object.fromEntries(
      FATES.map((fate) => [fate, fates.filter((one) => one === fate).length]),
    ) as Counts['fates'],
    cleanSteps: verdicts.length * STEPS,
    falseFailures: verdicts.filter(({ stopped, failed }) => stopped || failed.length > 0).length,
  };
}

/** A line of a mutant. */
export function outcomeLine(outcome: Outcome): string {
  const { index, place, operator, original, mutated, effect, crash, verdict } = outcome;
  const brief = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 100);
  const said = verdict?.stopped
    ? `stopped at step ${verdict.stopped.step} by ${verdict.stopped.code} (${verdict.stopped.stage})`
    : [...(verdict?.failed ?? []), ...(verdict?.warned ?? []).map((code) => `${code}~`)].join(' ') ||
      'silent';
  const became = effect === 'wrong' ? said : effect === 'crashed' ? `crashed: ${brief(crash!)}` : effect;
  return `#${index} ${place} ${operator}: ${brief(original)} → ${brief(mutated)} | ${became}`;
}

/** The table, and after it every mutant that was not stopped. */
export function campaignText(result: CampaignResult): string {
  const counts = countsOf(result);
  const share = (count: number) =>
    `${String(count).padStart(5)}  ${((100 * count) / counts.wrong).toFixed(1)} %`;
  const { fates } = counts;
  const survivors = result.outcomes.filter(({ effect, verdict }) => effect === 'wrong' && !verdict!.stopped);
  const byStage = [...new Set(result.outcomes.map(({ stages }) => stages[0]!))].map((stage) => {
    const own = result.outcomes.filter(({ effect, stages }) => effect === 'wrong' && stages[0] === stage);
    const stopped = own.filter(({ verdict }) => verdict!.stopped);
    const right = own.filter((outcome) => fateOf(outcome, result) === 'stopped at its stage');
    return `  ${stage.padEnd(14)} ${own.length} wrong, ${stopped.length} stopped, ${right.length} of them at their stage`;
  });
  return [
    `Seed ${result.seed}: ${counts.drawn} mutants drawn of ${counts.sites}`,
    `  no effect      ${String(counts.none).padStart(5)}`,
    `  another draw   ${String(counts.anotherDraw).padStart(5)}`,
    `  crashed        ${String(counts.crashed).padStart(5)}`,
    `  wrong          ${String(counts.wrong).padStart(5)}`,
    'Of the wrong ones',
    `  stopped              ${share(fates['stopped at its stage'] + fates['stopped elsewhere'])}`,
    ...FATES.map((fate) => `  ${fate.padEnd(20)} ${share(fates[fate])}`),
    ...byStage,
    `${counts.cleanSteps} clean steps: ${counts.falseFailures} runs with a false failure.`,
    '',
    'Not stopped:',
    ...survivors.map(outcomeLine),
  ].join('\n');
}
