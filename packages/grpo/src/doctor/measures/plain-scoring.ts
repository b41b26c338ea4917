/** How sampler and trainer score, told by one completion scored plainly under several settings. */
import type { Declared, Probes, StepRecord } from '../../trace/index.js';
import { fail, type Measurements, notApplicable, type Outcome, pass } from '../outcome.js';
import { explains, toleranceOf } from '../tolerance.js';
import { hasPenalties, lowersNone, samplerGap } from './sampling.js';

export const PATH = 'probes.plainScoring: taken where sampler and trainer disagree';

type PlainScoring = NonNullable<Probes['plainScoring']>[number];

/** Whether one side’s log-probs are those of another temperature. */
export function temperatureOf(
  side: 'policy' | 'sampler',
  { plainScoring }: Probes,
  temperature: number | undefined,
  record: StepRecord,
): Outcome<{ declared: number; gap: number; fits: number; gapThere: number }> {
  if (isPenalized(side, record)) return notApplicable(UNPENALIZED);
  const straight = plainScoring?.filter(({ shift, support }) => shift === 0 && !support) ?? [];
  const own = straight.find((setting) => setting.temperature === temperature);
  if (!own?.[side].tokens || straight.length < 2) return notApplicable(PATH);
  const best = nearestSetting(straight, side);
  const measured = {
    declared: own.temperature,
    gap: own[side].mean,
    fits: best.temperature,
    gapThere: best[side].mean,
  };
  const outcome = judge(own[side].mean, best[side].mean, measured, record);
  return side === 'sampler' &&
    outcome.verdict === 'fail' &&
    isTruncation(best.temperature, own.temperature, record)
    ? notApplicable(UNLIKELY)
    : outcome;
}

const SUPPORTS = {
  whole: 'the whole vocabulary',
  before: 'the ids of the token before',
  after: 'the ids of the token after',
} as const;

/** Whether one side’s log-probs are those over other ids than the recorded supports. */
export function supportFits(
  side: 'policy' | 'sampler',
  { plainScoring = [] }: Probes,
  { rollout }: Declared,
  record: StepRecord,
): Outcome<{ gap: number; fits: string; gapThere: number }> {
  if (isPenalized(side, record)) return notApplicable(UNPENALIZED);
  const isOwn = ({ temperature, shift }: PlainScoring) => shift === 0 && temperature === rollout?.temperature;
  const own = plainScoring.find((setting) => isOwn(setting) && !setting.support);
  const others = plainScoring.filter((setting) => isOwn(setting) && setting.support);
  if (!own?.[side].tokens || others.length === 0) return notApplicable(PATH);
  const best = nearestSetting(others, side);
  const measured = { gap: own[side].mean, fits: SUPPORTS[best.support!], gapThere: best[side].mean };
  return judge(own[side].mean, best[side].mean, measured, record);
}

const UNPENALIZED = 'log-probs of the sampler without the declared penalties, which plain scoring leaves out';

const isPenalized = (side: 'policy' | 'sampler', { declared }: StepRecord) =>
  side === 'sampler' && hasPenalties(declared?.rollout ?? {});

export const UNLIKELY =
  'a token that the sampler makes less likely: without one, truncation explains the difference as well';

/** Whether truncation could explain what a lower temperature does. */
export function isTruncation(fits: number, declared: number, record: StepRecord): boolean {
  const gap = samplerGap(record);
  return fits < declared && (gap === undefined || lowersNone(gap, record));
}

/** The setting under which one side’s log-probs fit best. */
export const nearestSetting = (settings: readonly PlainScoring[], side: 'policy' | 'sampler') =>
  settings.reduce((a, b) => (b[side].mean < a[side].mean ? b : a));

/** Another setting explains what the declared one does not; neither, and it is something else. */
export function judge<M extends Measurements>(
  own: number,
  other: number,
  measured: M,
  record: StepRecord,
): Outcome<M> {
  const tolerance = toleranceOf(record);
  if (own <= tolerance.mean) return pass(measured);
  return explains(other, own, tolerance)
    ? fail(measured)
    : notApplicable('a setting that explains the difference');
}
