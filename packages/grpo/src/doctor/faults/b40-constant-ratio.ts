import { withoutNaN } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { membersOf, scoredRows, updateRows } from '../inputs.js';
import { fromTheStart } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { ratiosOf } from '../recompute/ratio.js';
import { isTrained } from '../recompute/row.js';
import { say } from '../sentence.js';
import { compare, isFull } from '../tolerance.js';

export const b40: Fault = {
  code: 'B40',
  name: 'constant ratio',
  title: 'The ratio is 1 although rollouts are reused',
  checks: [
    stepCheck({
      code: 'B40.ratio',
      title: 'Later updates from one rollout have ratios other than 1',
      stage: 'logprob',
      level: 6,
      rank: 2,
      threshold:
        'in the last of several updates some ratio of a token with a log-prob below -1e-4 is not exactly 1, if an earlier update is known to have changed the weights; in half precision of 100 and more different log-probs; only warns if completions are trained on twice without old log-probs, as declared',
      sources: ['huggingface/trl#3120', 'huggingface/trl#2769', 'jingyaogong/minimind#775'],
      why: 'The old log-probs were computed again after the update.',
      remedy: 'Compute the old log-probs once, before the first update.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B38', 'B19', 'B39', 'B54', 'H05'],
      proofs: ['native'],
      needs: ['updates'],
      test({ updates }, record): Outcome<{ updates: number; detached?: boolean }> {
        const last = updates.at(-1)!;
        if (updates.length < 2) return notApplicable('several updates per rollout');
        const { objective = {}, ownStages } = record.declared ?? {};
        if (ownStages?.includes('objective')) return notApplicable('the standard stage objective');
        if (objective.oldLogprobs === 'detach') {
          if (objective.ratio === 'none') return notApplicable('a loss with a ratio');
          const taken = updates.flatMap((update) => membersOf(record, update));
          return taken.length > new Set(taken).size
            ? warn({ updates: updates.length, detached: true })
            : notApplicable('completions that are trained on twice, with old log-probs');
        }
        const logRatios = logRatiosOf(record, last);
        if (!logRatios)
          return notApplicable('updates.ratios, or scored.oldLogprobs and updates.policyLogprobs');
        if (!updates.slice(0, -1).some((update) => isMoved(record, update)))
          return notApplicable('an update that is known to have changed the weights');
        const masks = masksOfUnsure(record, last);
        const zeros = logRatios.map((row) => new Float32Array(row.length));
        const { max, tokens } = compare(logRatios, zeros, masks);
        if (tokens === 0)
          return notApplicable('tokens with mask 1 and a log-prob below -1e-4 in the last update');
        const policy = updateRows(record, last, 'policyLogprobs');
        const different = policy ? differentIn(policy, masks) : tokens;
        if (max === 0 && !isFull(record) && different < MANY)
          return notApplicable(
            `${MANY} different log-probs of them, of which half precision rounds some back`,
          );
        const measured = { updates: updates.length, tokens, largestLogRatio: max };
        return max === 0 ? fail(measured) : pass(measured);
      },
      says: (m) =>
        m.detached
          ? say`Completions are trained on in ${m.updates} updates without old log-probs: the ratio is 1 by construction, and clipping never acts.`
          : say`After ${m.updates} updates from one rollout every ratio is still exactly 1: the old log-probs were computed again.`,
    }),
    stepCheck({
      code: 'B40.old',
      title: 'The ratio is taken to the policy that sampled',
      stage: 'loss',
      level: 6,
      rank: 6,
      threshold:
        'every ratio with mask 1 within a relative 1e-3 in float32, 0.02 in half precision, of exp(policy − old)',
      sources: ['huggingface/trl#3120', 'huggingface/trl#2769'],
      why: 'The old log-probs were computed again after the update.',
      remedy: 'Compute the old log-probs once, before the first update, and use them in every update.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43'],
      proofs: ['native'],
      needs: ['updates', 'oldLogprobs', 'declared'],
      test({ updates, declared }, record) {
        const { objective, ownStages } = declared;
        const level = objective?.ratio ?? 'token';
        if (ownStages?.includes('objective')) return notApplicable('the standard stage objective');
        return overUpdates(updates, (update) => {
          const ratios = updateRows(record, update, 'ratios');
          const policy = updateRows(record, update, 'policyLogprobs');
          if (!ratios || !policy) return 'updates.ratios and updates.policyLogprobs';
          const old = scoredRows(record, update, 'oldLogprobs')!;
          const masks = scoredRows(record, update, 'mask');
          const within = isFull(record) ? 1e-3 : 0.02;
          for (const [row, b] of membersOf(record, update).entries()) {
            const mask = masks?.[row];
            const own = { policy: policy[row]!, old: old[row]!, mask };
            const expected = ratiosOf(level, own);
            for (let token = 0; token < expected.length; token++) {
              const [ratio, right] = [ratios[row]![token]!, expected[token]!];
              if (isTrained(mask, token) && !(Math.abs(ratio - right) <= within * right))
                return { completion: b, token, values: { ratio, expected: right } };
            }
          }
          return undefined;
        });
      },
      says: (m) =>
        say`The ratio of a token is ${m.ratio}; the log-probs of policy and old policy give ${m.expected}: the loss uses other old log-probs.`,
    }),
    logCheck({
      code: 'B40.log',
      title: 'Clipping acts where rollouts are reused',
      stage: 'logprob',
      level: 6,
      rank: 10,
      threshold:
        'the clip share is above 0 in some of 100 entries when several updates are made from a rollout; from 20 entries on it informs, since small steps seldom reach the clip',
      sources: ['huggingface/trl#3120', 'huggingface/trl#3757'],
      why: 'With one update per rollout a clip share of 0 is normal.',
      remedy: 'Compute the old log-probs once, before the first update.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'Ratios of a second update: all exactly 1 prove it.',
      needs: ['clip_ratio/region_mean'],
      test(log) {
        const updates = log.declared.updatesPerRollout;
        if (updates === undefined || updates <= 1)
          return notApplicable('several declared updates per rollout');
        const clipped = withoutNaN(log.column('clip_ratio/region_mean'));
        if (clipped.length < 20) return notApplicable('20 entries');
        const measured = { entries: clipped.length, updates };
        if (clipped.some((share) => share !== 0)) return pass(measured);
        return clipped.length < 100 ? inform(measured) : warn(measured);
      },
      says: (m) =>
        say`Nothing was clipped in ${m.entries} entries, although each rollout is used for ${m.updates} updates: the ratio seems to stay 1.`,
    }),
    logCheck({
      code: 'B40.still',
      title: 'The ratio moves where rollouts are reused',
      stage: 'logprob',
      level: 6,
      rank: 10,
      threshold:
        'the mean or the largest ratio differs from 1 by more than 1e-6 in some of 8 entries or more; informs if the number of updates from a rollout is not declared; not applicable with one update',
      sources: ['huggingface/trl#3120', 'huggingface/trl#2769'],
      why: 'With one update per rollout the ratio is 1, and clipping never acts.',
      remedy:
        'If each rollout has several updates, compute the old log-probs once, before the first; else nothing.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30', 'B49', 'B61'],
      settles: 'The ratios of a second update from one rollout: all exactly 1 prove it.',
      proofs: ['log only'],
      needs: ['ratio/mean'],
      test(log): Outcome<{ entries: number; updates?: number }> {
        const { updatesPerRollout: updates } = log.declared;
        if (updates === 1) return notApplicable('several updates per rollout');
        if ((log.series.decimals?.['ratio/mean'] ?? 9) < 4)
          return notApplicable('ratio/mean with four decimals');
        const ratios = ['ratio/mean', 'ratio/max', 'ratio/min'].flatMap((name) =>
          withoutNaN(log.column(name)),
        );
        const entries = withoutNaN(log.column('ratio/mean')).length;
        if (entries < 8) return notApplicable('8 entries');
        const measured = { entries, ...(updates !== undefined && { updates }) };
        if (ratios.some((ratio) => Math.abs(ratio - 1) > 1e-6)) return pass(measured);
        const evidence = fromTheStart(log, 'ratio/mean');
        return updates === undefined ? inform(measured, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        m.updates !== undefined
          ? say`The ratio is exactly 1 in all ${m.entries} entries, although each rollout is used for ${m.updates} updates: the old log-probs are those of the policy that is trained.`
          : say`The ratio is exactly 1 in all ${m.entries} entries. That is right with one update from each rollout; with several, the old log-probs are computed again in each, and nothing is ever clipped.`,
    }),
  ],
};

/** log π − log π_old of the tokens of an update, as the loss used it where that is known. */
function logRatiosOf(record: StepRecord, update: UpdateRecord): Float32Array[] | undefined {
  const ratios = updateRows(record, update, 'ratios');
  if (ratios) return ratios.map((row) => row.map(Math.log));
  const policy = updateRows(record, update, 'policyLogprobs');
  const old = scoredRows(record, update, 'oldLogprobs');
  return old && policy?.map((row, i) => row.map((logprob, t) => logprob - old[i]![t]!));
}

/** The log-prob of a token that is as good as certain: no update that does not ruin the model moves it. */
const CERTAIN = -1e-4;

/** Different log-probs of which half precision, where logits move by steps, does not leave all as they were. */
const MANY = 100;

/** Values of the tokens with mask 1 that differ from one another. */
const differentIn = (rows: readonly Float32Array[], masks: readonly Uint8Array[] | undefined): number =>
  new Set(rows.flatMap((row, i) => [...row.filter((_, t) => masks?.[i]?.[t] !== 0)])).size;

/** The masks of an update, without tokens that are certain. */
function masksOfUnsure(record: StepRecord, update: UpdateRecord): Uint8Array[] | undefined {
  const masks = scoredRows(record, update, 'mask');
  const policy = updateRows(record, update, 'policyLogprobs');
  const isUnsure = (logprob: number, mask = 1) => Number(mask !== 0 && !(logprob > CERTAIN));
  return (
    policy?.map((row, i) => Uint8Array.from(row, (logprob, t) => isUnsure(logprob, masks?.[i]?.[t]))) ?? masks
  );
}

/** Whether an update changed what the forward pass reads: half-precision weights may stay where float32 masters move. */
function isMoved(
  record: StepRecord,
  { gradNorm = 0, learningRate = 0, changedShare, changedWeightShare }: UpdateRecord,
): boolean {
  const masters = !isFull(record) && record.declared?.masterWeights !== false;
  const share = changedWeightShare ?? (masters ? undefined : changedShare);
  const moved = share === undefined ? isFull(record) && learningRate >= 1e-7 : share > 0.01;
  return gradNorm > 0 && learningRate > 0 && moved;
}
