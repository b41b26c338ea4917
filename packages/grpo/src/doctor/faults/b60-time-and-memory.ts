import { mean, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { slope } from '../../maths/trend.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import type { LogView } from '../log-view.js';
import { inform, notApplicable, type Outcome, pass } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** How much memory grows from step to step. */
function growth(sizes: readonly number[], steps: readonly number[]) {
  const { slope: rise, t } = slope(sizes, steps);
  const measured = {
    entries: sizes.length,
    first: sizes[0]!,
    last: sizes.at(-1)!,
    aStep: rise / mean(sizes),
  };
  return measured.aStep > 0.01 && t > 4 ? inform(measured) : pass(measured);
}

/** Both checks of memory: of step records, and of a log. */
const MEMORY = {
  title: 'Memory does not grow from step to step',
  stage: 'performance',
  level: 8,
  rank: 1,
  why: 'Seen in a run that kept a graph alive: 3869 MB, and 434 MB without it. The threshold is a choice of ours.',
  remedy:
    'Look for tensors with a graph that outlive the step: losses that are summed up, outputs that are kept.',
  consequence: { rerun: 'nothing', checkpointsVoid: false },
  settles: 'The number of live tensors after each of three steps.',
  says: (m: { entries: number; first: number; last: number; aStep: number }) =>
    say`Memory grows by ${percent(m.aStep)} per step: from ${m.first} to ${m.last} bytes over ${m.entries} entries.`,
} as const;

/** A slow step, to the median. */
const SLOW = 3;

/** Stages in which a step is watched, and nothing of it is done. */
const OBSERVING: readonly string[] = ['record', 'audit', 'canaries', 'probe'];

export const b60: Fault = {
  code: 'B60',
  name: 'time and memory',
  title: 'Time or memory is wasted',
  checks: [
    runCheck({
      code: 'B60.memory',
      ...MEMORY,
      threshold:
        'the memory of the largest stage rises by at most 1 % of its mean per step (t > 4), over 5 records and 20 steps or more',
      needs: ['stages'],
      see({ stages }) {
        const sizes = stages.flatMap(({ bytes }) => bytes ?? []);
        return sizes.length > 0 ? { bytes: Math.max(...sizes) } : 'stages.bytes';
      },
      test(seen) {
        const span = seen.at(-1)!.step - seen[0]!.step;
        if (seen.length < 5 || span < 20) return notApplicable('5 records of 20 steps');
        return growth(
          seen.map(({ value }) => value.bytes),
          seen.map(({ step }) => step),
        );
      },
    }),
    logCheck({
      code: 'B60.memory-log',
      ...MEMORY,
      threshold:
        'the memory of the entries rises by at most 1 % of its mean per step (t > 4), over 20 entries or more',
      needs: ['memory_bytes'],
      test(log) {
        const known = log.series.entries.filter(({ values }) => Number.isFinite(values.memory_bytes));
        if (known.length < 20) return notApplicable('20 entries');
        return growth(
          known.map(({ values }) => values.memory_bytes!),
          known.map(({ step }) => step),
        );
      },
    }),
    stepCheck({
      code: 'B60.stage',
      title: 'No stage takes nearly all of a step',
      stage: 'performance',
      level: 8,
      rank: 1,
      threshold: 'at most 80 % of a step of more than a second; records and audits are no stage of it',
      why: 'The threshold is a choice of ours.',
      remedy: 'Look at that stage first when a step is too slow.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'A profile of the stage.',
      needs: ['stages'],
      test({ stages }) {
        const own = stages.filter(({ name }) => !OBSERVING.includes(name));
        const total = stages.reduce((seconds, stage) => seconds + stage.seconds, 0);
        if (total === 0 || own.length === 0) return notApplicable('stages with times');
        const longest = own.reduce((a, b) => (b.seconds > a.seconds ? b : a));
        const measured = { stage: longest.name, share: longest.seconds / total, seconds: total };
        return measured.share > 0.8 && total > 1 ? inform(measured) : pass(measured);
      },
      says: (m) => say`The stage ${quote(m.stage)} takes ${percent(m.share)} of a step of ${m.seconds} s.`,
    }),
    logCheck({
      code: 'B60.second',
      title: 'The second step is not much slower than the first',
      stage: 'performance',
      level: 8,
      rank: 6,
      threshold: 'the second step takes at most 3 × the time of the first, or less than 5 s',
      sources: ['pytorch/torchtitan#2823'],
      why: 'In another run a step of 21.7 s was followed by one of 103.6 s. Compilation and loading make the first step slow, not the second.',
      remedy:
        'Compare the stages of both steps. A stage of the model that grew is compiled again for new shapes, or memory is full; else look at the judge.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Two steps without compilation.',
      needs: ['step_time'],
      test(log): Outcome<{ first: number; second: number; stage?: string; from?: number; to?: number }> {
        const [a, b] = log.series.entries.filter(({ values }) => Number.isFinite(values.step_time));
        if (!a || !b || log.series.stepsPerEntry !== 1 || a.step > 1 || b.step !== a.step + 1)
          return notApplicable('the first two steps');
        const [first, second] = [a.values.step_time!, b.values.step_time!];
        const stages = Object.keys(b.values).filter((name) => /^seconds\//.test(name) && name in a.values);
        const grown = (name: string) => b.values[name]! - a.values[name]!;
        const [stage] = stages.toSorted((x, y) => grown(y) - grown(x));
        // The lines may leave out where the time went.
        const isKnown = stage !== undefined && grown(stage) > (second - first) / 2;
        const measured = {
          first,
          second,
          ...(isKnown && {
            stage: stage.slice('seconds/'.length),
            from: a.values[stage]!,
            to: b.values[stage]!,
          }),
        };
        return second > 3 * first && second >= 5 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`The second step took ${m.second} s, the first ${m.first} s: compilation would make the first one slow.${m.stage === undefined ? '' : say` The time went into the stage ${quote(m.stage)}: ${m.from} s, then ${m.to} s.`}`,
    }),
    logCheck({
      code: 'B60.slow',
      title: 'Steps take about equally long',
      stage: 'performance',
      level: 8,
      rank: 6,
      threshold:
        'from the third step on, at most a tenth of 10 entries or more take longer than 3 × the median',
      sources: ['pytorch/torchtitan#2823'],
      why: 'New shapes recompile.',
      remedy: 'Look at the stage times of a slow step: compilation, garbage collection, a judge that waits.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Stage times of a slow and a usual step.',
      needs: ['step_time'],
      test(log) {
        const times = usualTimes(log);
        if (times.length < 10) return notApplicable('12 entries');
        const usual = median(times);
        const slow = times.filter((time) => time > SLOW * usual).length;
        const measured = { entries: times.length, median: usual, slow };
        return slow > times.length / 10 ? inform(measured) : pass(measured);
      },
      ranges: (log) => [{ metric: 'step_time', high: SLOW * median(usualTimes(log)) }],
      says: (m) => say`${m.slow} steps took more than three times the median of ${m.median} s.`,
    }),
  ],
};

/** Times of the third step and of later ones. */
function usualTimes(log: LogView): number[] {
  const rewards = log.column('reward');
  // Of several updates from a rollout the first has its reward, and takes the time of sampling.
  const isWhole = (i: number) => !Number.isNaN(rewards[i]!) || !log.has('reward');
  return withoutNaN(log.column('step_time').filter((_, i) => isWhole(i))).slice(2);
}
