import { largest, mean, moments, withoutNaN } from '../../maths/moments.js';
import { falls, slope } from '../../maths/trend.js';
import { logCheck, stepCheck } from '../check.js';
import { lossOf, MOST } from '../course/break.js';
import { datedOf, whenText } from '../course/movements.js';
import { BEYOND_NOISE } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { entryAt, fromTheStart, rewardNames } from '../log-view.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** Share of a function's training reward that it gives in evaluation at least, where training earns something. */
const [LEAST_SHARE, EARNED] = [0.4, 0.1];
/** The same of two or three evaluations. */
const SHARE_OF_FEW = 0.1;

/** Share of its best that an evaluation lost for good. */
const LOST = 1 / 3;
/** Share of it that is worth a word where the noise is known. */
const LEAST = 0.1;

/** Fewer held-out problems tell nothing. */
const FEW_PROBLEMS = 8;

export const b58: Fault = {
  code: 'B58',
  name: 'evaluation mismatch',
  title: 'Evaluation does not measure what is trained',
  left: 'pre-flight',
  checks: [
    stepCheck({
      code: 'B58.best',
      title: 'The best checkpoint is chosen by what should be good, and the rate lowered where it is not',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold: 'the metric is not the loss, and of a reward the greater is the better',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'The loss of GRPO is a mean of advantages, about 0 for any policy: its least value is noise. The metric is the loss unless it is set.',
      remedy:
        'metric_for_best_model="eval_reward" and greater_is_better=True; of a rate that follows a metric lr_scheduler_kwargs={"mode": "max"}.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'The evaluated reward of the checkpoint that was kept, beside that of the others.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { bestBy } }) {
        if (!bestBy) return notApplicable('probes.bestBy');
        const { metric, greaterIsBetter, lowersRate = false } = bestBy;
        const isLoss = /(^|_)loss$/.test(metric);
        const isReversed = !greaterIsBetter && /reward/.test(metric);
        return (isLoss || isReversed ? warn : pass)({ metric, isLoss, lowersRate });
      },
      says: ({ metric, isLoss, lowersRate }) =>
        lowersRate
          ? say`The learning rate is lowered whenever ${metric} has not fallen (ReduceLROnPlateau in mode min): ${isLoss ? 'the loss of GRPO lies about 0 for any policy' : 'it is lowered while the policy gets better'}.`
          : isLoss
            ? say`The best checkpoint is chosen by ${metric}: the loss of GRPO lies about 0 for good and bad policies alike, so the choice is one of chance.`
            : say`The best checkpoint is the one with the least ${metric}: the worst policy is kept.`,
    }),
    stepCheck({
      code: 'B58.golds',
      title: 'Right answers of held-out rows are paid as those of training are',
      stage: 'evaluation',
      level: 4,
      rank: 1,
      threshold:
        'of the reference answers of held-out rows, written as a completion that is paid and each graded with its row, at least half earn half of what that earned, where most of those that are trained on do',
      why: 'Seen in a reward that looked the answer up in a table of training prompts: held out, nothing could be right.',
      remedy:
        'Call the reward by hand with a held-out row and its answer, and print what it compares with what.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      induces: ['B58'],
      settles: 'The reference answers of all held-out rows, graded.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { golds = [] } }) {
        const pairs = golds.flatMap((held) => {
          const trained = golds.find(({ reward, heldOut }) => reward === held.reward && !heldOut);
          return held.heldOut && trained && held.graded > 0 ? [{ held, trained }] : [];
        });
        const isUnpaid = ({ unpaid, graded }: { unpaid: number; graded: number }) => unpaid > graded / 2;
        const one = pairs.find(({ held, trained }) => isUnpaid(held) && !isUnpaid(trained)) ?? pairs[0];
        if (!one) return notApplicable('probes.golds of held-out rows');
        const { reward, graded, unpaid, answer = '' } = one.held;
        const measured = { reward, graded, unpaid, answer };
        return (isUnpaid(one.held) && !isUnpaid(one.trained) ? warn : pass)(measured);
      },
      says: (m) =>
        say`The reward ${m.reward} does not pay the right answer of ${m.unpaid} of ${m.graded} held-out rows, such as ${quote(m.answer)}, written as a completion that it pays in training: the evaluation cannot see what is learnt.`,
    }),
    stepCheck({
      code: 'B58.unlike',
      title: 'Held-out prompts have the parts that those of training have',
      stage: 'evaluation',
      level: 1,
      rank: 7,
      threshold:
        'at most half of the held-out prompts have other roles than any prompt that is trained on, or are a text in place of messages; fewer only inform',
      why: 'Seen in an evaluation whose rows were made without the system message: 0.14 there, 0.36 in training.',
      remedy: 'Make both sets of rows by the same function, system message included.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'The first row of each set, printed.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { heldOut } }) {
        const { prompts, unlike } = heldOut ?? {};
        if (!prompts || unlike === undefined) return notApplicable('probes.heldOut.unlike');
        const measured = { prompts, unlike };
        if (unlike === 0) return pass(measured);
        return (unlike > prompts / 2 ? warn : inform)(measured);
      },
      says: (m) =>
        say`${m.unlike} of ${m.prompts} held-out prompts have other parts than those that are trained on, such as no system message: the evaluation asks in another way.`,
    }),
    stepCheck({
      code: 'B58.answers',
      title: 'Held-out rows have as many different answers as rows of the training data',
      stage: 'evaluation',
      level: 1,
      rank: 7,
      threshold: `${FEW_PROBLEMS} held-out rows or more have no fewer different answers than any of 10,000 draws of as many rows from the training data`,
      why: 'Seen in held-out rows that were the first of sorted data: the evaluation told how often the model gives their few answers.',
      remedy: 'Shuffle the rows before you split them; print the answers of both parts, counted.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'The answers of the held-out rows, counted.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { heldOut } }) {
        const { answers } = heldOut ?? {};
        if (!answers || answers.rows < FEW_PROBLEMS)
          return notApplicable(`probes.heldOut.answers of ${FEW_PROBLEMS} rows`);
        return answers.distinct < answers.least ? warn(answers, [{ text: answers.answer }]) : pass(answers);
      },
      says: (m) =>
        say`The ${m.rows} held-out rows have ${m.distinct} different ${m.distinct === 1 ? 'answer' : 'answers'} (${m.has} have ${JSON.stringify(m.answer)}), where as many rows drawn from the training data have ${m.least} or more: they are no sample of it, such as the first rows of a sorted file.`,
    }),
    logCheck({
      code: 'B58.counted',
      title: 'An evaluation says what its completions add up to',
      stage: 'evaluation',
      level: 8,
      rank: 1,
      threshold:
        'right completions and mean length of an evaluation, against those of as many rows of eval-completions.jsonl; the length to 1e-6',
      why: 'Seen in a run whose rows kept the scores of the first evaluation: 42.5 %, and 82.5 % by the completions beside them.',
      remedy: 'Trust the completions, and look at the code that makes the row.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      induces: ['B58', 'B52', 'B62'],
      proofs: ['native'],
      needs: [],
      test({ series }) {
        const rows = new Map(series.entries.map(({ step, values }) => [step, values]));
        const judged = (series.evaluations ?? []).filter(
          ({ step, decoding, total }) => rows.get(step)?.[`eval_${decoding}/total`] === total,
        );
        if (judged.length === 0) return notApplicable('evaluations with all of their completions');
        const off = judged.flatMap(({ step, decoding, correct, tokens, total }) => {
          const told = (name: string) => rows.get(step)![`eval_${decoding}/${name}`];
          return [
            { what: 'right completions', row: told('correct'), counted: correct },
            { what: 'mean length', row: told('meanLength'), counted: tokens / total },
          ].flatMap(({ what, row, counted }) =>
            row !== undefined && Math.abs(row - counted) > 1e-6 * Math.max(1, counted)
              ? [{ step, what: `${decoding} ${what}`, row, counted }]
              : [],
          );
        });
        const [first] = off;
        const measured = {
          evaluations: judged.length,
          what: '',
          row: 0,
          counted: 0,
          ...first,
          off: off.length,
        };
        return first
          ? fail(
              measured,
              off.map(({ step, what, row, counted }) => ({ step, text: what, values: { row, counted } })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`The evaluation after step ${m.step!} says ${m.row} for its ${m.what}; its rows in eval-completions.jsonl add up to ${m.counted}.${m.off > 1 ? say` So it is with ${m.off - 1} more.` : ''}`,
    }),
    logCheck({
      code: 'B58.log',
      title: 'Evaluation follows the training reward',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold: `reported when the training reward rises (t > 2) and the evaluation falls over 5 evaluations or more (t < −2; with fewer than 10, t < −3; or from the first to the mean of the others by more than half, and by six of their deviations beyond ${EARNED})`,
      why: 'Seen in a run whose training reward rose by 0.2025 while its evaluation lost 1.6 %.',
      remedy:
        'Compare the prompt, decoding and parser of training and evaluation; then suspect over-fitting.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'One problem through training and evaluation: ids, completion and grade must be equal.',
      needs: ['reward', 'eval_reward'],
      test(log) {
        const evaluation = slope(log.column('eval_reward'), log.steps);
        if (evaluation.count < 5) return notApplicable('5 evaluations');
        const training = slope(log.column('reward'), log.steps);
        const evaluated = withoutNaN(log.column('eval_reward'));
        const measured = {
          evaluations: evaluation.count,
          trainingT: training.t,
          evaluationT: evaluation.t,
          first: evaluated[0]!,
          last: evaluated.at(-1)!,
        };
        const rest = moments(evaluated.slice(1), 0);
        const fall = evaluated[0]! - rest.mean;
        const isLost = fall > evaluated[0]! / 2 && fall > EARNED + 6 * rest.deviation;
        const isWorse = falls(log.column('eval_reward'), log.steps) || isLost;
        return training.t > 2 && isWorse ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The evaluation goes from ${m.first} to ${m.last} in ${m.evaluations} evaluations and falls, while the training reward rises: what is learnt is not what is evaluated.`,
    }),
    logCheck({
      code: 'B58.apart',
      title: 'A reward function gives in evaluation what it gives in training',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold: `for each function of training and evaluation, the mean of the last third of at least 4 evaluations is ${LEAST_SHARE} × that of training or more, if that is above ${EARNED}; of two or three, none is below ${SHARE_OF_FEW} × the training before and after`,
      why: 'Seen in loops whose answers were shuffled in evaluation, whose training reward took any text that holds the answer, and that trained on one batch.',
      remedy:
        'Run one problem through both: prompt, decoding, parser and gold answer must be the same. If they are, the training problems are too few, or are drawn again and again.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      induces: ['B27'],
      settles: 'One problem through training and evaluation: ids, completion and grade must be equal.',
      proofs: ['log only'],
      needs: [],
      test(log): Outcome<{ name: string; training: number; evaluation: number; isFromStart: boolean }> {
        const names = rewardNames(log).filter((name) => log.has(`eval_rewards/${name}/mean`));
        const judged = names.flatMap((name) => {
          const training = withoutNaN(log.column(`rewards/${name}/mean`));
          const evaluation = withoutNaN(log.column(`eval_rewards/${name}/mean`));
          const isFew = evaluation.length < 4;
          if (evaluation.length < 2) return [];
          const end = (values: readonly number[]) => mean(values.slice(-Math.ceil(values.length / 3)));
          const least = (isFew ? SHARE_OF_FEW : LEAST_SHARE) * end(training);
          // A few evaluations tell only what all of them tell.
          const isApart = (isFew ? largest(evaluation) : end(evaluation)) < least;
          const isFromStart = evaluation[0]! < LEAST_SHARE * mean(training.slice(0, 3));
          return [{ name, training: end(training), evaluation: end(evaluation), isFromStart, isApart }];
        });
        const [worst] = judged.sort((a, b) => a.evaluation / a.training - b.evaluation / b.training);
        if (!worst) return notApplicable('a reward function of training and of 2 evaluations');
        const { isApart, ...measured } = worst;
        return worst.training > EARNED && isApart ? warn(measured) : pass(measured);
      },
      says: (m) =>
        m.isFromStart
          ? say`The reward ${m.name} is ${m.training} in training and ${m.evaluation} in evaluation, and was as far apart from the first evaluation on: the two are not judged alike. Prompts, decoding limit, parser or gold answers differ.`
          : say`The reward ${m.name} is ${m.training} in training and ${m.evaluation} in evaluation, and was not as far apart at first: training pays for what evaluation does not take, or the same few problems are learnt by heart.`,
    }),
    logCheck({
      code: 'B58.lost',
      title: 'An evaluation keeps its best level',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold: `reported when the last of 5 to ${MOST} evaluations lost ${percent(LOST)} of the best, and lie apart from all before them (Dixon, p < 0.005); or the last eighth of 8 or more ${percent(LEAST)} of the best level that lasted, by ${BEYOND_NOISE} standard errors`,
      why: 'Seen in runs whose evaluation went from 0.71 to 0.38 and from 0.99 to 0.54 while nobody looked.',
      remedy:
        'Take the checkpoint of the best evaluation. Then look at what moved before: entropy, length, KL, and the training reward.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The evaluation of both checkpoints again, with more problems.',
      needs: ['eval_reward'],
      test(log) {
        const evaluation = log.course.of('evaluation');
        if (!evaluation || evaluation.points.length < 5) return notApplicable('5 evaluations');
        const { points, fall } = evaluation;
        const loss = lossOf(points, LOST);
        const fallen = fall.from - fall.to;
        const isLower =
          points.length >= 8 && fallen > LEAST * Math.abs(fall.from) && fall.beyond >= BEYOND_NOISE;
        if (!loss?.isSure && !isLower) return pass({ evaluations: points.length });
        const lost = loss?.isSure ? loss : fall;
        const { from, to, step } = lost;
        return warn({ from, to, ...datedOf(lost), stays: evaluation.stays(lost) }, [
          entryAt(log, 'eval_reward', step),
        ]);
      },
      says: (m) =>
        say`The evaluation fell from ${m.from} at its best to ${m.to} ${whenText(m)}${m.stays ? ', and stayed there' : ''}.`,
    }),
    logCheck({
      code: 'B58.held-out',
      title: 'What is learnt holds for held-out problems',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold:
        'of evaluations with 95 % intervals: the last does not lie below the first, interval below interval; and where the training reward gained for good, and the evaluation began as high, the last interval reaches half of that gain below it, or the evaluation gained a quarter of it',
      why: 'Seen in runs of a few problems: one answered every prompt with one text, and its held-out reward fell from 0.49 to 0.20; another learnt its problems by heart, from 0.36 to 0.87, and held-out ones not at all.',
      remedy:
        'Compare completions of the first and of the last evaluation. Where all are one text, lower the learning rate or add a KL; where only training problems are solved, train on more of them.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'An evaluation with more problems (eval.limit), before and after.',
      needs: ['reward', 'eval_reward', 'eval_problems'],
      test(log): Outcome<Record<'from' | 'to' | 'problems' | 'start' | 'end', number> & { fell: boolean }> {
        const problems = largest(withoutNaN(log.column('eval_problems')));
        const points = log.series.entries.flatMap(({ step, values }) => {
          const {
            eval_reward: reward,
            'eval_greedy/rewardLow': low,
            'eval_greedy/rewardHigh': high,
          } = values;
          if (reward === undefined) return [];
          // Rewards that are all one value have no interval: up to 3 of n others may have been missed by chance.
          const missed = (3 / Math.max(3, problems)) * Math.max(1, Math.abs(reward));
          return [{ step, reward, low: low ?? reward - missed, high: high ?? reward + missed }];
        });
        const [first, last] = [points[0], points.at(-1)];
        if (!first || !last || points.length < 2) return notApplicable('two evaluations');
        if (problems < FEW_PROBLEMS) return notApplicable(`${FEW_PROBLEMS} held-out problems`);
        const gain = log.course.lastingGain;
        const [start, end] = [gain?.from ?? Number.NaN, log.course.of('reward')?.end ?? Number.NaN];
        const fell = last.high < first.low;
        const measured = { from: first.reward, to: last.reward, problems, start, end, fell };
        const evidence = [{ step: last.step, text: 'eval_reward', values: { value: last.reward } }];
        if (fell) return warn(measured, evidence);
        // Harder problems than those of training begin lower, and gain less.
        const isByHeart =
          gain !== undefined &&
          first.high >= start &&
          last.high < end - (end - start) / 2 &&
          last.reward - first.reward < (end - start) / 4;
        return isByHeart ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        m.fell
          ? say`The held-out reward fell from ${m.from} to ${m.to} (greedy, ${m.problems} problems), by more than its intervals explain.`
          : say`The training reward rose from ${m.start} to ${m.end}, the held-out one went from ${m.from} to ${m.to} (greedy, ${m.problems} problems): what is learnt holds for the training problems only.`,
    }),
    logCheck({
      code: 'B58.still',
      title: 'The evaluation is of the model that is trained',
      stage: 'evaluation',
      level: 8,
      rank: 3,
      threshold:
        'reported when 5 evaluations or more give exactly the same, neither 0 nor ±1, while reward, entropy or KL move beyond the noise; if they stand still, B52.log judges',
      why: 'Seen in a loop whose evaluator kept the first weights.',
      remedy: 'Hand the present weights to the evaluator before each evaluation; clear its caches.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      settles: 'A hash of the evaluator’s weights at two evaluations: it differs.',
      needs: ['eval_reward'],
      test(log) {
        const evaluated = withoutNaN(log.column('eval_reward'));
        if (evaluated.length < 5) return notApplicable('5 evaluations');
        const value = evaluated[0]!;
        const measured = { evaluations: evaluated.length, value };
        const isStill = value !== 0 && Math.abs(value) !== 1 && evaluated.every((other) => other === value);
        return isStill && log.course.moves
          ? warn(measured, fromTheStart(log, 'eval_reward'))
          : pass(measured);
      },
      says: (m) =>
        say`All ${m.evaluations} evaluations give exactly ${m.value}, while the policy changes: the evaluator has other weights than the trainer, or answers from a cache.`,
    }),
  ],
};
