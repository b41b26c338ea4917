/** Advantages follow from the rewards of the group, as declared. */
import { explain } from '../advantages.js';
import { stepCheck } from '../check.js';
import { type Evidence, fail, inform, notApplicable, pass } from '../outcome.js';
import { groupsOf, isFlat, sum } from '../statistics.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const needs = ['totals', 'advantages', 'promptOf', 'declared'] as const;

export const advantageChecks = [
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
    test({ totals, advantages, promptOf, declared }) {
      if (groupsOf(promptOf).length < 2) return notApplicable('two prompts in a step');
      const { kind } = explain(totals, advantages, promptOf, declared);
      return kind === 'other grouping' ? fail({ fits: kind }) : pass({ fits: kind });
    },
  }),
  stepCheck({
    code: 'B32.whitening',
    title: 'Advantages are scaled as declared, not whitened over the batch',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold: 'not: centred by group, then divided by the deviation of the batch',
    source: 'identity; seed 003',
    remedy: 'Scale by what is declared, once.',
    consequence,
    induces: ['B33'],
    needs,
    test({ totals, advantages, promptOf, declared }) {
      const { kind } = explain(totals, advantages, promptOf, declared);
      return kind === 'batch whitening' ? fail({ fits: kind }) : pass({ fits: kind });
    },
  }),
  stepCheck({
    code: 'B34.raw',
    title: 'No group is trained on its raw rewards',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold: 'not: advantages equal to the rewards of a group',
    source:
      'identity; seed 002, “Plan C”: the raw reward where the deviation is small pushes everything one way',
    remedy: 'A group without differences has advantage 0.',
    consequence,
    induces: ['B33'],
    needs,
    test({ totals, advantages, promptOf, declared }) {
      const explanation = explain(totals, advantages, promptOf, declared);
      if (explanation.kind !== 'raw rewards') return pass({ fits: explanation.kind });
      const evidence = explanation.completions.map(
        (completion): Evidence => ({ completion, values: { advantage: advantages[completion]! } }),
      );
      return fail({ fits: explanation.kind, completions: explanation.completions.length }, evidence);
    },
  }),
  stepCheck({
    code: 'B33.recompute',
    title: 'Advantages recomputed from the rewards are the recorded ones',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold:
      'within 2e-3 of (r − mean) / (std + ε), with the declared scale, ε (else 1e-4) and ddof (else 1)',
    source: 'identity; spec of TRL 1.x: ddof 1, ε 1e-4 added to the deviation',
    remedy: 'Compare mean, deviation, ε and clipping with what is declared.',
    consequence,
    needs,
    test({ totals, advantages, promptOf, declared }) {
      const explanation = explain(totals, advantages, promptOf, declared);
      if (explanation.kind === 'nothing') return fail({ fits: 'none of the known ways' });
      if (explanation.kind !== 'recipe') return pass({ fits: explanation.kind });
      const { scale, epsilon, ddof } = explanation.recipe;
      return fail({ fits: 'another recipe', scale, epsilon, ddof });
    },
  }),
  stepCheck({
    code: 'B34.sum',
    title: 'The advantages of a group sum to 0',
    stage: 'advantage',
    kind: 'identity',
    level: 5,
    threshold: '|Σ A| ≤ 1e-3 × group size × the largest |A|; not where advantages are clipped',
    source: 'identity: what is centred by the group’s mean sums to 0',
    remedy: 'Centre by the mean of the completions that have a reward, and of no others.',
    consequence,
    needs: ['advantages', 'promptOf', 'declared'],
    test({ advantages, promptOf, declared }) {
      if (declared.advantageClip !== undefined) return notApplicable('advantages that are not clipped');
      const groups = groupsOf(promptOf);
      const off = groups.flatMap((group): Evidence[] => {
        const own = group.map((b) => advantages[b]!);
        const total = sum(own);
        const bound = 1e-3 * group.length * Math.max(1, ...own.map(Math.abs));
        return Math.abs(total) <= bound ? [] : [{ prompt: promptOf[group[0]!]!, values: { sum: total } }];
      });
      const measured = { groups: groups.length, off: off.length };
      return off.length > 0 ? fail(measured, off) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B30.flat',
    title: 'Groups have rewards that differ',
    stage: 'advantage',
    kind: 'heuristic',
    level: 5,
    threshold:
      'at most half of the groups of equal rewards in a step; near the end of a successful run more is health',
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
      const measured = { groups: groups.length, flat: flat.length, share: flat.length / groups.length };
      return flat.length > groups.length / 2 ? inform(measured) : pass(measured);
    },
  }),
];
