import { AGGREGATIONS, KL_ESTIMATORS, KL_LEVELS, POLICY_TERMS, RATIO_LEVELS } from '../../config/choices.js';
import type { LossRow } from '../../doctor/recompute/policy-slopes.js';
import type { Declared } from '../../trace/index.js';

/** A loss that is computed by other settings than the declared ones. */
export interface OtherLoss {
  /** A noun: the setting that would stand for it, or what is done otherwise. */
  what: string;
  declared: Declared;
  rows: readonly LossRow[];
  /** Slopes by what the loss does beyond its settings. */
  slopes?: (of: Float64Array, row: LossRow) => Float64Array;
}

type Section = 'objective' | 'entropy' | 'correction' | 'kl';

/** The declared loss with other settings, and given other numbers. */
const changed = (declared: Declared, rows: readonly LossRow[]) => ({
  set: (section: Section, change: Record<string, unknown>, what?: string): OtherLoss => ({
    what:
      what ??
      Object.entries(change)
        .map(([key, value]) => `${section}.${key}=${value}`)
        .join(' '),
    declared: { ...declared, [section]: { ...declared[section], ...change } },
    rows,
  }),
  given: (change: (row: LossRow) => Partial<LossRow>, what: string): OtherLoss => ({
    ...{ what, declared },
    rows: rows.map((row) => ({ ...row, ...change(row) })),
  }),
});

/** Losses that differ in one thing from the declared one, the likeliest first. */
export function* otherLosses(declared: Declared, rows: readonly LossRow[]): Generator<OtherLoss> {
  const { set, given } = changed(declared, rows);
  const { objective = {}, entropy = {} } = declared;
  const { clipLow = 0, clipHigh = clipLow, delta, cap, offPolicyThreshold } = objective;
  yield {
    ...{ what: 'a ratio that the gradient flows through, where it is to be detached,', declared, rows },
    slopes: (of, { policy, old = policy }) =>
      of.map((slope, t) => {
        const isCapped = cap !== undefined && Math.exp(policy[t]! - old[t]!) > cap;
        return isCapped ? slope : slope * (1 + policy[t]!);
      }),
  };
  yield given(({ policy }) => ({ old: policy }), 'a ratio of 1 (old log-probs that are the current ones)');
  yield given(({ sampler }) => ({ old: sampler }), "a ratio to the sampler's log-probs");
  yield {
    ...given(({ old, policy }) => ({ policy: old ?? policy, old: policy }), 'a ratio that is upside down'),
    slopes: (of) => of.map((slope) => -slope),
  };
  yield set('objective', { clipLow: 1, clipHigh: Number.POSITIVE_INFINITY }, 'a ratio without its clip');
  yield set('objective', { clipHigh: Number.POSITIVE_INFINITY }, 'a ratio without its upper clip');
  yield set('objective', { clipLow: 1 }, 'a ratio without its lower clip');
  if (clipHigh !== clipLow) {
    yield set('objective', { clipHigh: clipLow });
    yield set('objective', { clipLow: clipHigh, clipHigh: clipLow });
  }
  if (delta !== undefined) yield set('objective', { delta: undefined }, 'objective.delta left out');
  if (cap !== undefined) yield set('objective', { cap: Number.POSITIVE_INFINITY }, 'objective.cap left out');
  if (offPolicyThreshold !== undefined)
    yield set('objective', { offPolicyThreshold: undefined }, 'objective.offPolicyThreshold left out');
  if ((entropy.topShare ?? 1) < 1) yield set('entropy', { topShare: 1 });
  yield set('correction', { level: 'off' });
  yield given(({ advantage }) => ({ advantage: -advantage }), 'advantages of the other sign');
  yield given(({ advantage }) => ({ advantage: Math.abs(advantage) }), 'advantages without their sign');
  for (const aggregation of AGGREGATIONS) yield set('objective', { aggregation });
  for (const ratio of RATIO_LEVELS) yield set('objective', { ratio });
  for (const policy of POLICY_TERMS) yield set('objective', { policy });
}

/** Losses whose KL differs in one thing from the declared one. */
export function* otherKls(declared: Declared, rows: readonly LossRow[]): Generator<OtherLoss> {
  const { set, given } = changed(declared, rows);
  const { clip, biasCorrected = false } = declared.kl ?? {};
  for (const estimator of KL_ESTIMATORS) if (estimator !== 'full') yield set('kl', { estimator });
  for (const level of KL_LEVELS) yield set('kl', { level });
  if (clip !== undefined) yield set('kl', { clip: undefined }, 'kl.clip left out');
  yield set('kl', { biasCorrected: !biasCorrected });
  yield given(
    ({ policy, reference }) => ({ policy: reference ?? policy, reference: policy }),
    'policy and reference exchanged',
  );
}
