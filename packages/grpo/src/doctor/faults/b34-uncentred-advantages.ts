import { largest, sum } from '../../maths/moments.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { explanationOf, roundingOf } from '../measures/advantages.js';
import { asDeclared, BASELINE, isCentred, isEqual, isWhole, WHOLE } from '../measures/group-advantages.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b34: Fault = {
  code: 'B34',
  name: 'uncentred advantages',
  title: 'Advantages are not centred',
  checks: [
    stepCheck({
      code: 'B34.raw',
      title: 'No group is trained on its raw rewards',
      stage: 'advantage',
      kind: 'identity',
      level: 5,
      rank: 1,
      threshold:
        'reported when the advantages of a group equal its rewards; only informs if no scale is declared and this holds for all groups',
      sources: ['arXiv:2402.03300'],
      why: 'A baseline makes the advantages of a group sum to 0; raw rewards push all completions one way.',
      remedy: 'Give a group of equal rewards the advantage 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33'],
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record) {
        const { advantages, declared } = given;
        const explanation = explanationOf(record);
        if (explanation.kind === 'lacking') return notApplicable(explanation.what);
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
      says: (m) =>
        say`${m.completions} completions have their raw reward as advantage: the whole group has one sign.`,
    }),
    stepCheck({
      code: 'B34.sum',
      title: 'The advantages of a group sum to 0',
      stage: 'advantage',
      kind: 'identity',
      level: 5,
      rank: 1,
      threshold:
        '|Σ A| ≤ 1e-3 × group size × the largest |A|, plus float32 rounding; not applicable without a baseline, to clipped advantages, or if flat groups keep their rewards; only informs if no scale is declared',
      sources: ['arXiv:2402.03300'],
      why: 'Deviations from the group’s mean sum to 0.',
      remedy: 'Subtract the mean over the completions that have a reward, and over no others.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33'],
      proofs: ['native'],
      needs: ['advantages', 'promptOf', 'declared'],
      test(given, { rewards }) {
        const { advantages, promptOf, declared } = given;
        if (declared.advantage?.clip !== undefined) return notApplicable('advantages that are not clipped');
        if (!isCentred(declared)) return notApplicable(BASELINE);
        if (!isWhole(given)) return notApplicable(WHOLE);
        const groups = groupsOf(promptOf);
        const off = groups.flatMap((group): Evidence[] => {
          const total = sum(group.map((b) => advantages[b]!));
          const scored = group.map((b) => rewards?.totals?.[b] ?? 0);
          // Rounding in a group of equal rewards is judged by B33.leak.
          if (rewards?.totals && isEqual(scored)) return [];
          const bound =
            1e-3 * Math.max(1, largest(group.map((b) => Math.abs(advantages[b]!)))) +
            roundingOf(scored, declared.advantage);
          return Math.abs(total) <= group.length * bound
            ? []
            : [{ prompt: promptOf[group[0]!]!, values: { sum: total } }];
        });
        const measured = { groups: groups.length, off: off.length };
        return off.length > 0 ? asDeclared(declared, measured, off) : pass(measured);
      },
      says: (m) => say`The advantages of ${m.off} of ${m.groups} groups do not sum to 0.`,
    }),
  ],
};
