import { nonzero, sum } from '../../maths/moments.js';
import { uniform } from '../../maths/random.js';
import type { Declared, RecordedView, StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { inputs, membersOf, scoredRows, updateRows } from '../inputs.js';
import { compareFirst, hasEqualWeights, placeOf } from '../measures/first-update.js';
import { hiddenShares } from '../measures/hidden-shares.js';
import { isEstimated, plansOfUpdate } from '../measures/mask-plans.js';
import { overUpdates } from '../measures/over-updates.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { drawnViews } from '../recompute/mask-plan.js';
import { quote, say } from '../sentence.js';
import { repeatBound, toleranceOf } from '../tolerance.js';

/** Standard errors by which chance does not move a share. */
const CHANCE = 8;
/** Weights are stored with 16 digits. */
const ROUNDING = 1e-6;

export const b63: Fault = {
  code: 'B63',
  name: 'mask plan',
  title: 'Log-probs of a masked-diffusion model are estimated with wrong masks',
  checks: [
    stepCheck({
      code: 'B63.views',
      title: 'The passes over a completion are those of the declared estimate',
      stage: 'mask plan',
      level: 2,
      rank: 3,
      threshold: `d1: one pass, the whole region hidden, weight 1. coupled: the whole region hidden, weight 1/2, then two passes that hide complementary places, weights 1/(2t) and 1/(2(1 − t)) with t in declared.diffusion.maskRates. sum_masked: one pass, weight 1. Of the last two none hides the prompt. Weights within ${ROUNDING}`,
      sources: ['arXiv:2504.12216', 'arXiv:2506.20639'],
      why: 'Without the factor 1/t a place that is hidden seldom counts too little.',
      remedy: 'Weigh the log-probs of a pass by the inverse of the chance with which it hides a place.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B11', 'B40', 'B45', 'B47', 'B49', 'B51'],
      proofs: ['native'],
      needs: ['plans', 'declared'],
      test({ plans, declared: { diffusion } }) {
        const { estimator } = diffusion ?? {};
        if (estimator === undefined) return notApplicable('declared.diffusion.estimator');
        const all = plans.flatMap((views_B, iteration) =>
          views_B.map((views, completion) => ({ views, iteration, completion })),
        );
        const scored = all.filter(({ views }) => views.length > 0);
        const wrong = scored.flatMap(({ views, iteration, completion }): Evidence[] => {
          const text = oddity(views, diffusion!);
          return text === undefined ? [] : [{ completion, text, values: { iteration } }];
        });
        const measured = { estimator, plans: scored.length, wrong: wrong.length, what: wrong[0]?.text ?? '' };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`${m.wrong} of ${m.plans} mask plans are not those of the estimate ${quote(m.estimator)}: ${m.what}.`,
    }),
    stepCheck({
      code: 'B63.rate',
      title: 'As many places are hidden as declared',
      stage: 'mask plan',
      level: 2,
      rank: 3,
      threshold: `the number of hidden places lies within ${CHANCE} standard errors of the declared share: of the prompt for d1 (promptMaskRate), of the region at the t that its weight stands for (coupled), or between maskRates (sum_masked)`,
      sources: ['arXiv:2504.12216', 'arXiv:2506.20639'],
      remedy: 'Draw each place by itself, and hide it where the draw is below the declared share.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B11', 'B45'],
      proofs: ['native'],
      needs: ['plans', 'declared', 'promptOf'],
      test({ plans, declared: { diffusion = {} }, promptOf }) {
        const rows = plans.flatMap((views_B) => hiddenShares(diffusion, views_B, groupsOf(promptOf)) ?? []);
        const places = sum(rows.map((row) => row.places));
        if (places === 0) return notApplicable('declared.diffusion: estimator and its shares');
        const hidden = sum(rows.map((row) => row.hidden));
        const expected = sum(rows.map(({ places: own, share }) => own * share));
        const bound = CHANCE * Math.sqrt(sum(rows.map(({ variance }) => variance))) + 1e-9;
        const measured = { hidden, places, share: hidden / places, expected: expected / places };
        return Math.abs(hidden - expected) <= bound ? pass(measured) : fail(measured);
      },
      says: (m) =>
        say`${m.hidden} of ${m.places} places are hidden, a share of ${m.share}; declared is one of ${m.expected}.`,
    }),
    stepCheck({
      code: 'B63.draws',
      title: 'The recorded keys give the recorded masks',
      stage: 'mask plan',
      level: 2,
      rank: 4,
      threshold:
        'every hidden place, and every weight, drawn again from the seed and the keys of its plan, is the same',
      why: 'The masks of a run can be made again by its seed alone.',
      remedy:
        'Take the masks from the counted random numbers of step, iteration, prompt, completion and place.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      proofs: ['native'],
      needs: ['plans', 'declared', 'promptOf', 'scoredLengths'],
      test({ plans, declared, promptOf, scoredLengths }, record) {
        const { seed, diffusion } = record;
        const keys = diffusion?.plans?.map((plan) => plan.keys);
        if (seed === undefined || !keys?.every((own) => own !== undefined))
          return notApplicable('seed and diffusion.plans.keys');
        const wrong: Evidence[] = [];
        for (const [iteration, views_B] of plans.entries()) {
          const draw = (...own: number[]) => uniform(seed, ...keys[iteration]!, ...own);
          for (const group of groupsOf(promptOf)) {
            for (const [g, b] of group.entries()) {
              const [views, p] = [views_B[b]!, promptOf[b]!];
              const [first] = views;
              if (!first) continue;
              const sizes = {
                prompt: first.prompt.length,
                width: first.region.length,
                tokens: scoredLengths[b]!,
              };
              const again = drawnViews(
                declared.diffusion ?? {},
                sizes,
                (token) => draw(p, -1, token),
                (place) => draw(p, g, place),
                () => draw(p, g, -1),
              );
              if (!again) return notApplicable('declared.diffusion: estimator and its shares');
              if (!areEqual(views, again)) wrong.push({ prompt: p, completion: b, values: { iteration } });
            }
          }
        }
        const measured = { completions: promptOf.length, iterations: plans.length, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`${m.wrong} mask plans of ${m.completions} completions over ${m.iterations} iterations are not those that seed and keys give.`,
    }),
    stepCheck({
      code: 'B63.hidden',
      title: 'Only hidden tokens have a log-prob',
      stage: 'logprob',
      level: 3,
      rank: 2,
      threshold:
        'the log-probs of policy, old policy and reference are 0 where no pass of the update hides the token',
      sources: ['arXiv:2504.12216'],
      why: 'A token that the model sees is copied, not predicted: its log-prob says nothing of the policy.',
      remedy: 'Score policy, old policy and reference with one mask plan, at its hidden places only.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B38', 'B40', 'B48', 'B49', 'B51'],
      proofs: ['native'],
      needs: ['plans', 'updates'],
      test: ({ updates }, record) =>
        overUpdates(updates, (update) => {
          const plans = plansOfUpdate(record, update);
          if (!plans) return 'diffusion.plans of the iteration of an update';
          const sides = {
            policy: updateRows(record, update, 'policyLogprobs'),
            'old policy': scoredRows(record, update, 'oldLogprobs'),
            reference: scoredRows(record, update, 'referenceLogprobs'),
          };
          if (!sides.policy) return 'updates.policyLogprobs';
          for (const [side, rows] of Object.entries(sides)) {
            for (const [row, completion] of membersOf(record, update).entries()) {
              const own = rows?.[row] ?? [];
              for (let token = 0; token < own.length; token++) {
                if (own[token] !== 0 && !isEstimated(plans[completion]!, token))
                  return { completion, token, values: { side, logprob: own[token]! } };
              }
            }
          }
          return undefined;
        }),
      says: (m) =>
        say`A token that no pass hides has the log-prob ${m.logprob} by the ${m.side}: it is scored with other masks than the record has.`,
    }),
    stepCheck({
      code: 'B63.same',
      title: 'Log-probs that are compared are estimated with the same masks',
      stage: 'logprob',
      level: 3,
      rank: 2,
      threshold:
        'at the first update, with the weights that sampled: mean |policy − old| within the tolerance of the precision (1e-4 nat in float32, 0.03 in half precision), and |policy − reference| where the checksums of both models’ weights are equal; not asked where scoring twice differs',
      sources: ['arXiv:2504.12216', 'arXiv:2506.20639'],
      why: 'With the same weights only the masks can set two estimates apart: then ratio and KL are noise.',
      remedy: 'Draw the masks once per iteration, and score policy, old policy and reference with them.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B38', 'B40', 'B48', 'B49', 'B50', 'B51'],
      proofs: ['native'],
      needs: ['diffusion', 'firstPolicyLogprobs'],
      test({ firstPolicyLogprobs }, record) {
        const repeated = record.probes?.repeatedScoring;
        if (repeated && repeated.max > repeatBound(record))
          return notApplicable('scoring that gives the same log-probs twice');
        const sides = comparedSides(record);
        if (sides.length === 0)
          return notApplicable('scored.oldLogprobs, or a reference with the weights of the policy');
        const gaps = sides.map(({ side, rows }) => ({
          side,
          ...compareFirst(record, firstPolicyLogprobs, rows),
        }));
        const known = gaps.filter(({ tokens }) => tokens > 0);
        if (known.length === 0) return notApplicable('tokens scored by both');
        const apart = known.find(({ mean }) => !(mean <= toleranceOf(record).mean));
        const { side, mean, max, worst } = apart ?? known[0]!;
        const measured = { side, mean, max };
        return apart ? fail(measured, [placeOf(record, worst)]) : pass(measured);
      },
      says: (m) =>
        say`The weights are the same, and policy and ${m.side} score a token ${m.mean} nat apart on average (${m.max} at most): they are estimated with different masks, so their ${m.side === 'reference' ? 'KL' : 'ratio'} is noise.`,
    }),
  ],
};

type DiffusionSettings = NonNullable<Declared['diffusion']>;

/** What is wrong with the passes over a completion, in words. */
function oddity(
  views: readonly RecordedView[],
  { estimator, maskRates }: DiffusionSettings,
): string | undefined {
  const count = estimator === 'coupled' ? 3 : 1;
  if (views.length !== count) return `${views.length} passes in place of ${count}`;
  if (estimator !== 'd1' && views.some(({ prompt }) => nonzero(prompt) > 0)) return 'the prompt is hidden';
  const [whole, one, other] = views;
  const isWhole = nonzero(whole!.region) === whole!.region.length;
  if (estimator !== 'sum_masked' && !isWhole) return 'the first pass does not hide the whole region';
  const weight = estimator === 'coupled' ? 0.5 : 1;
  if (!isNear(whole!.weight, weight)) return `a pass weighs ${whole!.weight} in place of ${weight}`;
  if (!one || !other) return undefined;
  if (one.region.some((hidden, place) => hidden === other.region[place]))
    return 'two passes do not hide complementary places';
  const [t, rest] = [0.5 / one.weight, 0.5 / other.weight];
  if (!isNear(t + rest, 1))
    return `weights of 1/(2 × ${t}) and 1/(2 × ${rest}) are of shares that do not add to 1`;
  const [least, most] = maskRates ?? [0, 1];
  return t < least - ROUNDING || t > most + ROUNDING
    ? `the share ${t} is not within ${least} and ${most}`
    : undefined;
}

const isNear = (value: number, right: number) => Math.abs(value - right) <= ROUNDING;

const areEqual = (one: readonly RecordedView[], other: readonly RecordedView[]): boolean =>
  one.length === other.length &&
  one.every(
    ({ prompt, region, weight }, i) =>
      isNear(weight, other[i]!.weight) &&
      prompt.every((hidden, place) => hidden === other[i]!.prompt[place]) &&
      region.every((hidden, place) => hidden === other[i]!.region[place]),
  );

/** The log-probs that are the policy's while the weights are still the same. */
function comparedSides(record: StepRecord): { side: string; rows: readonly Float32Array[] }[] {
  const old = inputs.oldLogprobs.from(record);
  const reference = inputs.referenceLogprobs.from(record);
  return [
    ...(old ? [{ side: 'old policy', rows: old }] : []),
    ...(reference && hasEqualWeights(record) ? [{ side: 'reference', rows: reference }] : []),
  ];
}
