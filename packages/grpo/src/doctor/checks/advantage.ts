/** Advantages follow from the rewards of the group, as declared. */
import type { Declared } from '../../trace/index.js';
import { explanationOf, roundingOf } from '../advantages.js';
import { stepCheck } from '../check.js';
import {
  type Evidence,
  fail,
  inform,
  type Measured,
  notApplicable,
  type Outcome,
  pass,
  warn,
} from '../outcome.js';
import { groupsOf, isFlat, largest, mean, smallest, sum } from '../statistics.js';
import { known } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const needs = ['totals', 'advantages', 'promptOf', 'declared'] as const;

/** What equal rewards may give at most: rounding of the mean, divided by ε. */
const LEAK = 0.01;

export const advantageChecks = [
  stepCheck({
    code: 'B29.advantage',
    title: 'Every advantage is a number, and 0 where there is no reward',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold: 'all finite; exactly 0 for a completion without a total',
    source: 'identity; trl#3079',
    remedy: 'Leave completions without a reward out of the group’s mean and give them advantage 0.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B30', 'B31', 'B33', 'B34', 'B43', 'B45', 'B47'],
    needs: ['totals', 'advantages'],
    test({ totals, advantages }) {
      const wrong = [...advantages].flatMap((advantage, completion): Evidence[] =>
        Number.isFinite(advantage) && !(Number.isNaN(totals[completion]!) && advantage !== 0)
          ? []
          : [{ completion, values: { advantage, reward: totals[completion]! } }],
      );
      const measured = {
        completions: totals.length,
        unscored: totals.filter(Number.isNaN).length,
        wrong: wrong.length,
      };
      return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B31.grouping',
    title: 'A completion is compared with completions of its own prompt',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold: 'not: advantages that only fit groups of every n-th completion',
    source: 'identity; trl#3181, Search-R1#88',
    remedy: 'Keep [p1, p1, p2, p2] one order from sampling to the advantages.',
    consequence,
    induces: ['B33', 'B34', 'B32'],
    needs,
    test(given, record) {
      if (groupsOf(given.promptOf).length < 2) return notApplicable('two prompts in a step');
      if (!isWhole(given)) return notApplicable(WHOLE);
      const { kind } = explanationOf(record);
      return kind === 'other grouping' ? fail({ fits: kind }) : pass({ fits: kind });
    },
  }),
  stepCheck({
    code: 'B32.whitening',
    title: 'Advantages are scaled as declared, not whitened over the batch',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      'not: centred by group, then divided by the deviation of the batch; only informs where no scale is declared',
    source: 'identity; seed 003',
    remedy: 'Scale by what is declared, once.',
    consequence,
    induces: ['B33'],
    needs,
    test(given, record) {
      if (!isWhole(given)) return notApplicable(WHOLE);
      const { kind } = explanationOf(record);
      return kind === 'batch whitening' && given.declared.scaleRewards !== 'batch'
        ? asDeclared(given.declared, { fits: kind })
        : pass({ fits: kind });
    },
  }),
  stepCheck({
    code: 'B34.raw',
    title: 'No group is trained on its raw rewards',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      'not: advantages equal to the rewards of a group; only informs where no scale is declared, and all groups have them',
    source:
      'identity; seed 002, “Plan C”: the raw reward where the deviation is small pushes everything one way',
    remedy: 'A group without differences has advantage 0.',
    consequence,
    induces: ['B33'],
    needs,
    test(given, record) {
      if (!isWhole(given)) return notApplicable(WHOLE);
      const { advantages, declared } = given;
      const explanation = explanationOf(record);
      if (explanation.kind !== 'raw rewards') return pass({ fits: explanation.kind });
      const { kind, completions } = explanation;
      const evidence = completions.map(
        (completion): Evidence => ({ completion, values: { advantage: advantages[completion]! } }),
      );
      const measured = { fits: kind, completions: completions.length };
      // Without any baseline it is another method.
      return completions.length === advantages.length
        ? asDeclared(declared, measured, evidence)
        : fail(measured, evidence);
    },
  }),
  stepCheck({
    code: 'B34.sum',
    title: 'The advantages of a group sum to 0',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      '|Σ A| ≤ 1e-3 × group size × the largest |A|, and what float32 rounds; not without a baseline, nor where advantages are clipped or flat groups keep their rewards; only informs where no scale is declared',
    source: 'identity: what is centred by the group’s mean sums to 0',
    remedy: 'Centre by the mean of the completions that have a reward, and of no others.',
    consequence,
    induces: ['B33'],
    needs: ['advantages', 'promptOf', 'declared'],
    test(given, { rewards }) {
      const { advantages, promptOf, declared } = given;
      if (declared.advantageClip !== undefined) return notApplicable('advantages that are not clipped');
      if (!isCentred(declared)) return notApplicable(BASELINE);
      if (!isWhole(given)) return notApplicable(WHOLE);
      const groups = groupsOf(promptOf);
      const off = groups.flatMap((group): Evidence[] => {
        const total = sum(group.map((b) => advantages[b]!));
        const scored = group.map((b) => rewards?.totals?.[b] ?? 0);
        // What comes of rounding in a group of equal rewards is B33.leak's.
        if (rewards?.totals && isEqual(scored)) return [];
        const bound =
          1e-3 * Math.max(1, largest(group.map((b) => Math.abs(advantages[b]!)))) +
          roundingOf(scored, declared);
        return Math.abs(total) <= group.length * bound
          ? []
          : [{ prompt: promptOf[group[0]!]!, values: { sum: total } }];
      });
      const measured = { groups: groups.length, off: off.length };
      return off.length > 0 ? asDeclared(declared, measured, off) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B33.recompute',
    title: 'Advantages recomputed from the rewards are the recorded ones',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      'within 2e-3, and what float32 rounds, of (r − baseline) / (std + ε) with the declared baseline, scale, ε, ddof, floor, treatment of flat groups, combination of rewards, whitening and clip; of what is not declared any usual value; only informs where no scale is declared, or where they are clipped besides',
    source: 'identity; DeepSeekMath, eq. 3; TRL 1.x: ddof 1, ε 1e-4 added to the deviation',
    remedy: 'Compare mean, deviation, ε and clipping with what is declared.',
    consequence,
    needs,
    test(given, record) {
      if (!isWhole(given)) return notApplicable(WHOLE);
      const explanation = explanationOf(record);
      if (explanation.kind === 'nothing')
        return asDeclared(given.declared, { fits: 'none of the known ways' });
      if (explanation.kind === 'clipped') return inform({ fits: 'clipped', bound: explanation.bound });
      if (explanation.kind === 'not clipped') return fail({ fits: 'not clipped', bound: explanation.bound });
      if (explanation.kind !== 'recipe') return pass({ fits: explanation.kind });
      const { scale, epsilon, ddof } = explanation.recipe;
      return fail({ fits: 'another recipe', scale, epsilon, ddof });
    },
  }),
  stepCheck({
    code: 'B33.leak',
    title: 'Equal rewards give no advantage',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold: `|A| ≤ ${LEAK} in a group of equal rewards`,
    source:
      'seed 003: ε 1e-8 makes rounding of the mean an advantage of order 1; TRL’s 1e-4 leaves up to 0.005',
    remedy: 'Compare a group’s largest and smallest reward and give it 0 where they are equal; an ε of 1e-4.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'The rewards of the group in full precision: differences below 1e-6 are rounding.',
    needs: ['totals', 'advantages', 'promptOf'],
    test({ totals, advantages, promptOf }, { declared = {} }) {
      if (!isCentred(declared)) return notApplicable(BASELINE);
      const flat = groupsOf(promptOf).filter((group) => {
        return group.length > 1 && isEqual(group.map((b) => totals[b]!));
      });
      if (flat.length === 0) return notApplicable('a group of equal rewards');
      const leaking = flat.flatMap((group): Evidence[] => {
        const most = largest(group.map((b) => Math.abs(advantages[b]!)));
        return most > LEAK ? [{ prompt: promptOf[group[0]!]!, values: { advantage: most } }] : [];
      });
      const measured = { flat: flat.length, leaking: leaking.length };
      return leaking.length > 0 ? warn(measured, leaking) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B30.flat',
    title: 'Groups have rewards that differ',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold:
      'at most half of the groups of equal rewards in a step, of groups of 2 or 3 nine tenths; near the end of a successful run more is health',
    source: 'seeds 001 to 003; trl#5640',
    remedy: 'Prompts of middling difficulty, larger groups, a reward with more levels.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    induces: ['B45', 'B53'],
    settles: 'The level: all right is a task that is learnt, all wrong one that is too hard.',
    needs: ['totals', 'promptOf'],
    test({ totals, promptOf }) {
      const groups = groupsOf(promptOf).filter((group) => group.length > 1);
      if (groups.length === 0) return notApplicable('a prompt with several completions');
      const flat = groups.filter((group) => isFlat(group.map((b) => totals[b]!)));
      const measured = {
        groups: groups.length,
        flat: flat.length,
        share: flat.length / groups.length,
        reward: mean(known(totals)),
      };
      // Two draws are equal half of the time at least.
      const usual = mean(groups.map(({ length }) => (length < 4 ? 0.9 : 0.5)));
      return measured.share > usual ? inform(measured) : pass(measured);
    },
  }),
];

const BASELINE = 'a baseline, with which flat groups get 0';

/** Whether rewards are compared, in every group. */
const isCentred = ({ baseline, flat }: Declared) => baseline !== 'none' && flat !== 'raw';

const WHOLE = 'whole groups, of declared.groupSize';

/** Whether every group is there as a whole: of several processes, a record may have the rows of one. */
const isWhole = ({ promptOf, declared }: { promptOf: Int32Array; declared: Declared }) =>
  declared.groupSize === undefined || groupsOf(promptOf).every(({ length }) => length === declared.groupSize);

/** A failure where the advantages are declared to be relative to a group; else it may be another method. */
const asDeclared = (declared: Declared, measured: Measured, evidence: readonly Evidence[] = []): Outcome =>
  declared.scaleRewards === undefined ? inform(measured, evidence) : fail(measured, evidence);

/** Whether rewards are one number, but for rounding. */
const isEqual = (rewards: readonly number[]) =>
  largest(rewards) - smallest(rewards) <= 1e-6 * Math.max(1e-3, Math.abs(rewards[0]!));
