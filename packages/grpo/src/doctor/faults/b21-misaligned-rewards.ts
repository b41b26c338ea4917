import { sum } from '../../maths/moments.js';
import { CANARY } from '../../trace/index.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { keysOf } from '../inputs.js';
import { type LogView, rewardNames } from '../log-view.js';
import { type AnswerOrder, paidAnswers } from '../measures/answer-order.js';
import { judgeGrader, judgePairing, ruleText, SETTLES, SHARE } from '../measures/canaries.js';
import { byReward, gradesOf } from '../measures/grades.js';
import { type Evidence, type EvidenceOf, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Natural logarithm of the probability below which a pattern is no accident: about 1e-6. */
const ACCIDENT = -14;

/** Natural logarithm of the number of equally likely choices above which hitting the pattern is no accident: a thousand. */
const RARE = Math.log(1000);

const PAYS_OTHERS = {
  stage: 'reward',
  level: 4,
  rank: 1,
  sources: ['huggingface/trl#6533'],
  why: 'Seen in a reward that got its prompts in the order [p1, p2, p1, p2], and its completions as [p1, p1, p2, p2].',
  remedy:
    'Take the answer from the row that comes with the completion; never count prompts and completions apart.',
  consequence: { rerun: 'GRPO', checkpointsVoid: true },
  induces: ['B27', 'B30'],
  settles: 'Grade one completion by hand against the answer of its prompt.',
  needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
} as const;

const payOthers = (m: { reward?: string; order?: string; reading?: string }) =>
  say`The reward ${m.reward ?? ''} pays the completions that ${m.reading ?? ''} the answer of another prompt (${m.order ?? ''}), not those that ${m.reading ?? ''} their own: rows and completions are in different orders.`;

export const b21: Fault = {
  code: 'B21',
  name: 'misaligned rewards',
  title: 'Rewards, prompts and answers are misaligned',
  checks: [
    stepCheck({
      code: 'B21.rows',
      title: 'The rows of the loss stand where their rewards do',
      stage: 'tokens',
      level: 1,
      rank: 3,
      threshold:
        'where every scored completion is a sampled one, up to padding, at most one stands at another place; one made anew is judged elsewhere',
      why: 'Seen in an override that shuffled the tensors with two dimensions, and left the advantages, which have one.',
      remedy:
        'Put everything that has a row for each completion into the new order: advantages and rewards, too.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B02', 'B07', 'B08', 'B11', 'B14', 'B19', 'B37', 'B38', 'B39', 'B55'],
      proofs: ['TRL run'],
      needs: ['ids', 'scoredIds'],
      test({ ids, scoredIds }, { tokenizer }) {
        const isRow = (scored: Int32Array, b: number) =>
          scored.every((id, t) => (t < ids[b]!.length ? id === ids[b]![t] : id === tokenizer?.padId));
        const places = scoredIds.map((own, b) =>
          own.length === 0 || isRow(own, b) ? b : ids.findIndex((_, c) => isRow(own, c)),
        );
        const moved = places.flatMap((place, b) => (place === b ? [] : [{ place, b }]));
        const [first] = moved;
        const measured = {
          completions: ids.length,
          moved: moved.length,
          row: first?.b ?? 0,
          is: first?.place ?? 0,
        };
        // A row that is no sampled one was made anew, which other checks tell.
        if (moved.length < 2 || places.includes(-1)) return pass(measured);
        return fail(
          measured,
          moved.map(({ place, b }) => ({ completion: b, values: { 'is completion': place } })),
        );
      },
      says: (m) =>
        say`The rows of the loss are the sampled completions in another order: ${m.moved} of ${m.completions} stand at other places, such as completion ${m.is} in row ${m.row}, while rewards and advantages stay where they were.`,
    }),
    stepCheck({
      code: 'B21.totals',
      title: 'A completion’s reward is the weighted sum of its parts',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: 'equal within 1e-6 of the largest part',
      sources: ['huggingface/trl#6533'],
      why: 'One value was broadcast to all completions.',
      remedy: 'Check how many values a reward returns, and in which order it gets the completions.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30', 'B31', 'B33', 'H16'],
      needs: ['rewardWeights', 'rewardValues', 'totals'],
      test({ rewardWeights, rewardValues, totals }) {
        const B = totals.length;
        const wrong = [...totals].flatMap((total, completion): Evidence[] => {
          if (Number.isNaN(total)) return [];
          let [found, scale] = [0, 1];
          for (let k = 0; k < rewardWeights.length; k++) {
            const part = rewardWeights[k]! * rewardValues[k * B + completion]!;
            if (Number.isNaN(part)) continue;
            found += part;
            scale = Math.max(scale, Math.abs(part));
          }
          return Math.abs(found - total) > 1e-6 * scale
            ? [{ completion, values: { sum: found, total } }]
            : [];
        });
        const measured = { completions: B, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`The reward of ${m.wrong} of ${m.completions} completions is not the weighted sum of its parts.`,
    }),
    stepCheck({
      code: 'B21.names',
      title: 'Each reward has a name of its own',
      stage: 'reward',
      level: 4,
      rank: 7,
      threshold: 'no name is there twice',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'TRL logs a reward under the name of its function: two of one name are one curve, the values of both in turn.',
      remedy:
        'Give each function a `__name__` of its own; wrappers and partials take that of what they wrap.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The names of the functions, printed.',
      proofs: ['TRL run'],
      needs: ['rewardNames'],
      test({ rewardNames }) {
        const twice = rewardNames.find((name, k) => rewardNames.indexOf(name) < k);
        const measured = { rewards: rewardNames.length, name: twice ?? '' };
        return twice === undefined ? pass(measured) : warn(measured);
      },
      says: (m) =>
        say`Two rewards have the name ${JSON.stringify(m.name)}: their curves are mixed in one, and no log tells what each of them gives.`,
    }),
    stepCheck({
      code: 'B21.alike',
      title: 'Equal completions of a prompt earn the same',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold:
        'of 4 or more pairs of equal completions of a prompt, at most half earn different rewards; a judge may waver',
      sources: ['huggingface/trl#2644', 'huggingface/trl#3098'],
      why: 'Rewards in the order [p1, p2, p1, p2] were read as [p1, p1, p2, p2].',
      remedy:
        'Compute the reward of one completion by hand and compare; look at the order of the completions.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B27', 'B30', 'B31', 'B33'],
      settles:
        'Compute the rewards of one step again, one completion at a time: they must equal the recorded rewards.',
      proofs: ['native'],
      needs: ['ids', 'promptOf', 'totals'],
      test({ ids, promptOf }, record) {
        const totals = gradesOf(record);
        const keys = keysOf(ids);
        const firsts = new Map<string, number>();
        const pairs = [...ids.keys()].flatMap((completion) => {
          const key = `${promptOf[completion]}: ${keys[completion]}`;
          const first = firsts.get(key);
          if (first === undefined) firsts.set(key, completion);
          return first === undefined || Number.isNaN(totals[completion]! + totals[first]!)
            ? []
            : [{ completion, values: { equals: first, reward: totals[completion]!, other: totals[first]! } }];
        });
        if (pairs.length < 4) return notApplicable('four pairs of equal completions');
        const unequal = pairs.filter(({ values }) => values.reward !== values.other);
        const measured = { pairs: pairs.length, unequal: unequal.length };
        return unequal.length > pairs.length / 2 ? warn(measured, unequal) : pass(measured);
      },
      says: (m) =>
        say`${m.unequal} of ${m.pairs} completions earned a different reward than an equal completion of the same prompt: the rewards may be in the wrong order.`,
    }),
    stepCheck({
      code: 'B21.pairing',
      title: 'A right answer earns the same in every place of the batch',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold: `through the production path, the answer earns otherwise where it stands again ${SHARE}`,
      sources: ['huggingface/trl#2644', 'huggingface/trl#3098'],
      why: 'A grader sees the row and the completion; only their pairing with rewards depends on the place.',
      remedy:
        'Look for where rewards are sorted, cut, shifted or put together again, and pair them by an id of the completion.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B23', 'B25', 'B26', 'B27', 'B28', 'B30', 'B31', 'B33'],
      settles: 'Grade one completion twice, in two places: a judge may waver, a grader may not.',
      proofs: ['native'],
      needs: ['probes'],
      test: ({ probes }) => judgePairing(probes),
      says: (m) =>
        say`On ${m.wrong} of ${m.probes} rows the same right answer earned otherwise in another place of the batch: rewards go to other completions than they were computed of, or depend on chance.`,
    }),
    stepCheck({
      ...PAYS_OTHERS,
      code: 'B21.answers',
      title: 'Completions are graded against the answer of their own prompt',
      threshold:
        'no reward pays exactly the completions that end in the answer of another prompt, or contain it (in turn, the next one, the one before, or in reverse; one exception per 50 that it pays), if it is off by their own answers for a tenth of the completions, and if chance would do so in less than one step of a thousand',
      test({ texts }, record) {
        const paid = paidAnswers(record);
        if (!paid) return notApplicable('answers of several prompts');
        const found = paid
          .filter(({ isOff }) => isOff)
          .flatMap(({ reward, orders }) =>
            orders()
              .filter(({ fits, choices }) => fits && choices > RARE)
              .map((one) => ({ ...one, reward })),
          );
        const measured = { completions: texts.length, ...paidBy(found[0]) };
        return found.length > 0 ? warn(measured, found.map(evidenceOf)) : pass(measured);
      },
      says: payOthers,
    }),
    runCheck({
      ...PAYS_OTHERS,
      proofs: ['PyTorch loop'],
      code: 'B21.orders',
      title: 'Over the steps, completions are graded against the answer of their own prompt',
      threshold:
        'the same over all records together, where the reward pays the answers of other prompts in each step that shows it',
      see(_, record) {
        const paid = paidAnswers(record);
        return paid?.map((one) => ({ ...one, orders: one.orders() })) ?? 'answers of several prompts';
      },
      test(seen) {
        const found = byReward(seen).flatMap(({ reward, own }) => {
          // The orders of all steps are the same ones.
          return own[0]!.orders.flatMap((one, i) => {
            const shown = own.filter(({ orders }) => orders[i]!.choices > 0);
            const isOff = 2 * shown.filter((step) => step.isOff).length > shown.length;
            const fits = shown.every(({ orders }) => orders[i]!.fits);
            const choices = sum(shown.map(({ orders }) => orders[i]!.choices));
            return isOff && fits && choices > RARE ? [{ ...one, reward }] : [];
          });
        });
        const measured = { records: seen.length, ...paidBy(found[0]) };
        return found.length > 0 ? warn(measured, found.map(evidenceOf)) : pass(measured);
      },
      says: payOthers,
    }),
    stepCheck({
      code: 'B21.cycled',
      title: 'Rewards do not repeat periodically',
      stage: 'reward',
      level: 4,
      rank: 2,
      threshold:
        'a reward’s values do not repeat with a period of the number of prompts or of completions per prompt, where values this frequent would do so by chance in less than one step per million',
      sources: ['huggingface/trl#6533'],
      why: 'The trainer gets fewer values than completions and assigns them in turn.',
      remedy:
        'Return one value per completion, in the order of the completions; refuse any other number of values.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30', 'B31', 'B33'],
      settles:
        'Compute the rewards of one step again, one completion at a time: they must equal the recorded rewards.',
      proofs: ['native'],
      needs: ['rewardNames', 'rewardValues', 'promptOf'],
      test({ rewardNames, rewardValues, promptOf }) {
        const B = promptOf.length;
        const prompts = groupsOf(promptOf).length;
        const periods = [...new Set([prompts, B / prompts])].filter(
          (period) => Number.isInteger(period) && period > 1 && period < B,
        );
        if (periods.length === 0) return notApplicable('several prompts with several completions');
        const cycled = rewardNames.flatMap((name, k): EvidenceOf<{ period: number }>[] => {
          const column = rewardValues.subarray(k * B, (k + 1) * B);
          const period = periods.find((length) => chanceOf(column, length) < ACCIDENT);
          return period === undefined ? [] : [{ text: name, values: { period } }];
        });
        const measured = { rewards: rewardNames.length, cycled: cycled.length, ...cycled[0]?.values };
        return cycled.length > 0 ? warn(measured, cycled) : pass(measured);
      },
      says: (m) =>
        say`The values of ${m.cycled} of ${m.rewards} rewards repeat with period ${m.period}: fewer values were computed than there are completions.`,
    }),
    stepCheck({
      code: 'B21.canary',
      title: 'The right answer of another row earns nothing',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `through the production path, the answer earns more than its declared most ${SHARE}`,
      sources: ['huggingface/trl#2644', 'huggingface/trl#3098'],
      why: 'The rewards of two rows must differ when their answers are exchanged.',
      remedy:
        'Check which row the reward function gets: the order of prompts and rows, the names of its fields, and whether it uses them.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B23', 'B25', 'B26', 'B27', 'B28', 'B30'],
      settles: SETTLES,
      proofs: ['native'],
      needs: ['probes'],
      test: ({ probes }) =>
        judgeGrader(
          probes,
          ({ kind, most, value }) => kind === CANARY.other && most !== undefined && value !== null,
          ({ value, most }) => value! <= most!,
        ),
      says: (m) =>
        say`On ${m.wrong} of ${m.probes} rows the right answer of another row earned at least as much as the row’s own${ruleText(m.rule)}: the reward does not see the row, or sees the wrong row.`,
    }),
    logCheck({
      code: 'B21.log',
      title: 'The reward is the weighted sum of its parts',
      stage: 'reward',
      level: 4,
      rank: 6,
      threshold:
        'in at least half of the entries, of 3 or more, the reward is Σ declared weight × mean, the weights in any order, within 1 % of the largest part; it only informs where the reward lies between the sums of negative and of positive parts, as it does where functions leave completions ungraded',
      sources: ['huggingface/trl#5353', 'huggingface/trl#6533'],
      why: 'The sum holds when every function grades every completion.',
      remedy:
        'Compare names, order and number of weights with the reward functions; look at how many values each returns.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Compute the rewards of one step by hand: each function, and the sum.',
      needs: ['reward'],
      test(log) {
        const names = rewardNames(log);
        const weights = log.declared.rewardWeights ?? [];
        if (names.length === 0 || weights.length !== names.length || log.series.rewardIsWeighted === false)
          return notApplicable(
            'rewards/NAME/mean, a declared weight for each, and a reward that applies the weights',
          );
        // Logs may sort the names, so the weights may belong to them in another order.
        const orders = names.length > MOST_PERMUTED ? [weights] : permutations(weights);
        const all = orders.map((order) => sumsOf(log, names, order));
        const { judged, wrong } = all.reduce((a, b) => (b.wrong.length < a.wrong.length ? b : a));
        if (judged < 3) return notApplicable('3 entries with all rewards');
        // A function that grades some completions only counts with their share, which the log does not have.
        const mayLack = all.some((one) =>
          one.wrong.every(({ least, most, reward }) => reward >= least && reward <= most),
        );
        const measured = { entries: judged, wrong: wrong.length, mayLack };
        const evidence = wrong.map(({ step, sum: total, reward }) => ({
          step,
          text: 'reward',
          values: { sum: total, reward },
        }));
        if (wrong.length <= judged / 2) return pass(measured);
        return mayLack ? inform(measured, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        say`In ${m.wrong} of ${m.entries} entries the reward is not the weighted sum of its parts${m.mayLack ? ', but may be where functions leave completions ungraded.' : '.'}`,
    }),
  ],
};

/** Most rewards whose weights are tried in every order. */
const MOST_PERMUTED = 5;

/** A list in every order. */
function permutations(list: readonly number[]): number[][] {
  if (list.length < 2) return [[...list]];
  return list.flatMap((first, i) =>
    permutations([...list.slice(0, i), ...list.slice(i + 1)]).map((rest) => [first, ...rest]),
  );
}

/** Entries whose reward is not the weighted sum of its parts, of those that have all. */
function sumsOf({ series }: LogView, names: readonly string[], weights: readonly number[]) {
  const judged = series.entries.flatMap(({ step, values }) => {
    const parts = names.map((name, k) => weights[k]! * values[`rewards/${name}/mean`]!);
    const { reward } = values;
    if (reward === undefined || !Number.isFinite(sum(parts))) return [];
    const slack = 0.01 * Math.max(1e-3, ...parts.map(Math.abs));
    const of = (isIn: (part: number) => boolean) => sum(parts.filter(isIn));
    const least = of((part) => part < 0) - slack;
    const most = of((part) => part > 0) + slack;
    return [{ step, reward, sum: sum(parts), slack, least, most }];
  });
  const wrong = judged.filter(({ reward, sum: total, slack }) => Math.abs(total - reward) > slack);
  return { judged: judged.length, wrong };
}

/** Logarithm of the chance that values as frequent as these repeat with a period; 0 when they do not, or are all alike. */
function chanceOf(column: Float64Array, period: number): number {
  const counts = new Map<number, number>();
  for (const value of column) counts.set(value, (counts.get(value) ?? 0) + 1);
  let chance = 0;
  for (let b = period; b < column.length; b++) {
    if (column[b] !== column[b - period]) return 0;
    chance += Math.log(counts.get(column[b]!)! / column.length);
  }
  return chance;
}

/** An order by which a reward pays. */
type Found = AnswerOrder & { reward: string };

const paidBy = (one: Found | undefined) =>
  one && { reward: one.reward, order: one.order, reading: one.reading };

const evidenceOf = ({ reward, order }: Found): Evidence => ({ text: reward, values: { order } });
