/** Logs: whether several kinds of problems in one run are learnt side by side, and groups are as flat as chance makes them. */
import { logCheck } from '../check.js';
import { at } from '../log-view.js';
import { inform, notApplicable, pass, warn } from '../outcome.js';
import { mean } from '../statistics.js';
import { known, longestRun } from '../trend.js';

const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

/** Entries from which a mean says something. */
const ENOUGH = 5;

export const kindLogChecks = [
  logCheck({
    code: 'B24.signal',
    title: 'All kinds of problems pull about alike',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold: `mean |advantage| of each kind within 3 times that of the others, over ${ENOUGH} entries or more`,
    source: 'seed 002: a signal of fairness to hallucination above 3 or below 0.33 is an imbalance',
    remedy:
      'Problems of middling difficulty for the weak kind, a reward with more levels, or a larger share of its problems. A factor on its reward has no effect where advantages are divided by the deviation of the group.',
    consequence: harmless,
    settles: 'The share of flat groups of each kind: a kind that is learnt, or too hard, has no signal.',
    needs: [],
    test(log) {
      const signals = log
        .names(/^signal\//)
        .map((name) => ({ kind: name.slice('signal/'.length), values: known(log.column(name)) }))
        .filter(({ values }) => values.length >= ENOUGH)
        .map(({ kind, values }) => ({ kind, signal: mean(values) }))
        .sort((a, b) => a.signal - b.signal);
      if (signals.length < 2) return notApplicable(`signal/KIND of two kinds, ${ENOUGH} entries of each`);
      const [weak, strong] = [signals[0]!, signals.at(-1)!];
      const measured = { weak: weak.kind, least: weak.signal, strong: strong.kind, most: strong.signal };
      return strong.signal > 3 * weak.signal ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B54.conflict',
    title: 'Kinds of problems do not work against each other',
    stage: 'optimizer',
    kind: 'heuristic',
    level: 8,
    threshold: 'no three measurements in a row of grad_cosine below −0.1',
    source: 'seed 002: a cosine below −0.1 three times is a conflict',
    remedy:
      'Train the kinds one after the other, or lower the share of one; look for prompts that ask the same and rewards that want the opposite.',
    consequence: harmless,
    settles: 'Both rewards of a run with one kind alone: they rise there and not together.',
    needs: ['grad_cosine'],
    test(log) {
      const cosines = log.column('grad_cosine');
      // Between measurements there are entries without.
      const places = [...cosines.keys()].filter((i) => !Number.isNaN(cosines[i]!));
      const { start, length } = longestRun(
        places.map((i) => cosines[i]!),
        (cosine) => cosine < -0.1,
      );
      const measured = { entries: places.length, inARow: length, least: Math.min(...known(cosines)) };
      if (length < 3) return pass(measured);
      return warn(
        measured,
        places.slice(start, start + length).map((i) => at(log, i, 'grad_cosine', cosines[i]!)),
      );
    },
  }),
  logCheck({
    code: 'B30.expected',
    title: 'Groups are as flat as chance makes them',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold: `share of flat groups at most 1.5 times p^G + (1 − p)^G, and 10 points above it, over ${ENOUGH} entries or more; p is the share of rewards above 0.5. It only informs`,
    source: 'seed 002: up to 1.2 times is normal, up to 1.5 times is to be watched',
    remedy:
      'Problems that are solved sometimes: drop those that are always or never solved, or sample with more variety.',
    consequence: harmless,
    settles: 'The share of right completions of each problem: near 0 and 1, or in between.',
    needs: ['frac_reward_zero_std', 'frac_reward_zero_std_expected'],
    test(log) {
      const actual = known(log.column('frac_reward_zero_std'));
      const expected = known(log.column('frac_reward_zero_std_expected'));
      if (expected.length < ENOUGH) return notApplicable(`${ENOUGH} entries`);
      const measured = { entries: expected.length, actual: mean(actual), expected: mean(expected) };
      const isMore = measured.actual > Math.max(1.5 * measured.expected, measured.expected + 0.1);
      return isMore ? inform(measured) : pass(measured);
    },
  }),
];
