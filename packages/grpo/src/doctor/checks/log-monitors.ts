/** Logs: monitors that watch one thing, and what they watch at the edges of a completion. */
import { logCheck } from '../check.js';
import { type Evidence, inform, notApplicable, pass, warn } from '../outcome.js';
import { known, median } from '../trend.js';

const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

/** What one log tells under two names. */
const TWICE = [['frac_reward_zero_std', 'frac_reward_zero_std/counted_again']] as const;
const APART = 0.01;
/** Share of completions cut off from which their rewards judge much that is unfinished. */
const CUT = 0.15;
const NEARLY_ALL = 0.95;

export const monitorLogChecks = [
  logCheck({
    code: 'B59.monitors',
    title: 'Two monitors of one quantity agree',
    stage: 'configuration',
    kind: 'heuristic',
    level: 6,
    threshold: `within ${APART} where both are shares of the same groups`,
    source:
      'identity; seed 002: 16.7 % and 50 % of flat groups in one step, the one counted over completions’ tasks',
    remedy:
      'Count one step by hand: groups whose rewards are all equal, over groups. Trust neither monitor until then.',
    consequence: harmless,
    settles: 'The rewards of one step, group by group.',
    needs: [],
    test(log) {
      const pairs = TWICE.filter((names) => names.every((name) => log.has(name)));
      if (pairs.length === 0) return notApplicable('one quantity under two names');
      const both = pairs.flatMap(([name, again]) => {
        const [ones, others] = [log.column(name), log.column(again)];
        return log.steps.flatMap((step, i) =>
          Number.isNaN(ones[i]! + others[i]!)
            ? []
            : [{ step, name, again, one: ones[i]!, other: others[i]! }],
        );
      });
      if (both.length === 0) return notApplicable('both in one entry');
      const apart = both.filter(({ one, other }) => Math.abs(one - other) > APART);
      const [first] = apart;
      const measured = {
        entries: both.length,
        apart: apart.length,
        ...(first && { one: first.one, other: first.other }),
      };
      const evidence = apart.map(
        ({ step, name, again, one, other }): Evidence => ({ step, values: { [name]: one, [again]: other } }),
      );
      return apart.length > 0 ? warn(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B09.log',
    title: 'Few completions are cut off',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold: `median share below ${100 * CUT} %, of 3 entries or more; nearly all of them is B16.log’s`,
    source:
      'seed 002: 16 to 33 % of one task’s answers at the limit of 96 tokens; systems disagree, so it only informs',
    remedy: 'Raise max_new_tokens, ask for shorter answers, or leave cut completions out of the loss.',
    consequence: harmless,
    settles: 'The rewards of cut and of finished completions, apart.',
    needs: ['completions/clipped_ratio'],
    test(log) {
      const cut = known(log.column('completions/clipped_ratio'));
      if (cut.length < 3) return notApplicable('3 entries');
      const measured = { entries: cut.length, share: median(cut) };
      return measured.share >= CUT && measured.share < NEARLY_ALL ? inform(measured) : pass(measured);
    },
  }),
];
