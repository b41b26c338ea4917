import { falls } from '../../maths/trend.js';
import { logCheck } from '../check.js';
import { lossOf } from '../course/break.js';
import {
  companionsOf,
  type Dated,
  datedOf,
  largeBreak,
  type Movement,
  movementOf,
  whenText,
} from '../course/movements.js';
import { BEYOND_NOISE, METRICS } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { entryAt, type LogView } from '../log-view.js';
import { inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Fewest entries: the levels of the first and the last eighth are compared. */
const FEWEST = 16;
/** Nats: e³ = 20 tokens that are equally likely, at every place of a text. */
const NOISE = 3;
/** From a few choices at every place to this many times the nats is another policy, where a place has e choices at the end. */
const GROWN = 4;
/** Answers of a fifth or five times the length are other answers. */
const TIMES = 5;

/** Share of the best reward that the last entries of a short log have all lost. */
const LOST = 0.65;
/** Share of the reward at the start that is lost where the policy breaks beside it. */
const FALLEN = 0.2;

/** The length before and after, the step at which it had changed by half, and the reward beside it. */
type Growth = Required<Dated> & {
  from: number;
  to: number;
  moved: string;
  start?: number;
  end?: number;
};

/** A fall of the reward; of a short log it is not known how far beyond the noise. */
type Fall = Record<'from' | 'to', number> &
  Required<Dated> &
  Record<'isLost' | 'isWorse' | 'isStill', boolean> & {
    moved: string;
    beyond?: number;
    after?: number;
  };

/** How far the length, and the entropy up and down, move before it is worth a word. */
const [DOUBLED, RISEN, SUNK] = [2, 2, 3];

const isDrift = ({ quantity, from, to }: Movement): boolean =>
  quantity === 'length'
    ? to >= DOUBLED * from || from >= DOUBLED * to
    : to >= RISEN * from || from >= SUNK * to;

/** What shows that the policy is another. */
const POLICY = ['length', 'entropy', 'kl', 'cut'] as const;

export const b61: Fault = {
  code: 'B61',
  name: 'policy collapse',
  title: 'The policy breaks in the course of the run',
  checks: [
    logCheck({
      code: 'B61.reward',
      title: 'The reward keeps its best level',
      stage: 'optimizer',
      level: 1,
      rank: 1,
      threshold: `reported when the last eighth of ${FEWEST} entries or more lies below the best level that lasted an eighth (or that the run began with) by more than half of that level, by the deviation within groups, and by ${BEYOND_NOISE} standard errors; of fewer entries, when the last ones lost ${percent(LOST)} of the best and lie apart from all before them (Dixon, p < 0.005), or lost ${percent(FALLEN)} of the first two of 8 or more, beyond noise, and truncation, length, entropy or gradient broke before them or with the first two; a last eighth below the first by as many standard errors informs, and warns where 5 evaluations or more fall with it (t < −3; from 10 on, t < −2)`,
      sources: ['huggingface/open-r1#257', 'modelscope/ms-swift#3136'],
      why: 'Half is lost: the policy at the end is worse than the one in the middle by more than sampling or other prompts explain.',
      remedy:
        'Take a checkpoint from before the fall. Then train on with a lower learning rate, a tighter clip or a KL term, and watch the metric that moved first.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: [
        'B08',
        'B16',
        'B09',
        'B20',
        'B28',
        'B30',
        'B39',
        'B45',
        'B49',
        'B53',
        'B54',
        'B55',
        'B06',
        'B62',
      ],
      settles:
        'Completions from before and after the fall, on the same prompts; harder data from that step on would explain it, too.',
      proofs: ['native'],
      needs: ['reward'],
      test(log): Outcome<Fall> {
        const reward = log.course.of('reward');
        if (!reward) return notApplicable(`${FEWEST} entries`);
        if (reward.points.length < FEWEST) return shortLoss(log);
        const { collapse } = log.course;
        const { shift } = reward;
        const isLower = shift.to < shift.from && shift.beyond >= BEYOND_NOISE;
        const fall = collapse ?? (isLower ? shift : undefined);
        if (!fall) return pass({ entries: reward.points.length, start: reward.start, end: reward.end });
        const { from, to, step, beyond } = fall;
        const after = shareAfter(log, step);
        const moved = companionsOf(log.course, { quantity: 'reward', ...fall });
        const evidence = [entryAt(log, 'reward', step)];
        const isWorse = falls(log.column('eval_reward'), log.steps);
        const isLost = collapse !== undefined;
        const measured = {
          ...{ from, to, ...datedOf(fall), beyond, after, moved },
          ...{ isLost, isWorse, isStill: isStill(log) },
        };
        return collapse || isWorse ? warn(measured, evidence) : inform(measured, evidence);
      },
      says: (m) =>
        say`The reward ${m.isLost ? 'fell' : 'ends below its start, it fell'} from ${m.from} to ${m.to} ${whenText(m)}${m.beyond === undefined ? '' : say`, ${Math.round(m.beyond)} standard errors beyond its noise`}${m.after === undefined ? '' : m.isLost ? say`, and did not recover: ${percent(m.after)} of the run came after` : ''}. ${m.isWorse && !m.isLost ? 'The evaluation falls, too: training makes the policy worse, as where completions get the rewards of others, an advantage has the wrong sign, or steps are too large. ' : ''}${m.moved}${m.isStill && !m.isWorse ? ' Where length, entropy and KL stay as they are, the policy is hardly another: look first whether the reward grades as it did before.' : ''}`,
    }),
    logCheck({
      code: 'B61.entropy',
      title: 'The entropy does not rise to noise',
      stage: 'optimizer',
      level: 1,
      rank: 2,
      threshold: `reported when the last eighth of ${FEWEST} entries or more has more than ${NOISE} nats per token, twice as many as the first, or more than one, ${GROWN} times as many, and ${BEYOND_NOISE} standard errors more, while the reward did not rise; of fewer entries, when it rose fourfold to ${NOISE} nats or more`,
      sources: ['verl-project/verl#5953', 'modelscope/ms-swift#3136'],
      why: 'At 3 nats 20 tokens are equally likely at every place; answers of trained models have 0.1 to 1.5.',
      remedy:
        'Lower the learning rate, or take away what rewards entropy: a bonus, a clip that is wider above than below.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B08', 'B16', 'B09', 'B30', 'B39', 'B49', 'B54', 'B55'],
      settles: 'Read completions of the last steps.',
      proofs: ['native'],
      needs: ['entropy'],
      test(log) {
        const entropy = log.course.of('entropy');
        const isShort = (entropy?.points.length ?? 0) < FEWEST;
        const moved = isShort ? largeBreak(log.course, 'entropy') : movementOf(log.course, 'entropy');
        if (!entropy || (isShort && !moved)) return notApplicable(`${FEWEST} entries`);
        const measured = { from: entropy.start, to: entropy.end };
        const noise = isShort ? NOISE : noiseAfter(moved?.from ?? 0);
        const isNoise = moved && moved.to > moved.from && moved.to >= noise;
        if (!isNoise || log.course.gain) return pass(measured);
        const { step } = moved;
        return warn({ ...measured, ...datedOf(moved), choices: Math.exp(moved.to) }, [
          entryAt(log, 'entropy', step),
        ]);
      },
      ranges({ course }) {
        const { start } = course.of('entropy')!;
        // A start that is nearly noise must double.
        return start < NOISE / 2 ? [{ metric: 'entropy', high: noiseAfter(start) }] : [];
      },
      says: (m) =>
        say`The entropy rose from ${m.from} to ${m.to} nats per token ${whenText(m)}, as if ${Math.round(m.choices)} tokens were equally likely at every place: the policy dissolves into noise.`,
    }),
    logCheck({
      code: 'B61.drift',
      title: 'Length and entropy keep their size',
      stage: 'optimizer',
      level: 1,
      rank: 4,
      threshold: `in a run without a lasting gain, the length does not double or halve and the entropy does not rise twofold or fall threefold, beyond ${BEYOND_NOISE} standard errors. It only informs: a run that learns may do all of it`,
      sources: ['verl-project/verl#5953', 'huggingface/open-r1#239'],
      why: 'Seen in runs whose answers grew from 180 to 560 tokens while the reward stood still, and in which nothing else was wrong yet.',
      remedy:
        'Read completions from before and after the change. Where the length grows for nothing, divide the loss by a constant (dr_grpo) or make length cost; where the entropy falls, raise the temperature or the upper clip.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The evaluation before and after.',
      needs: [],
      test(
        log,
      ): Outcome<
        Required<Dated> & Record<'from' | 'to' | 'beyond', number> & { what: string; reward: boolean }
      > {
        const { course } = log;
        const moved = (['length', 'entropy'] as const).flatMap(
          (quantity) => movementOf(course, quantity) ?? [],
        );
        if (!course.of('length') && !course.of('entropy')) return notApplicable('a length or an entropy');
        const [first] = course.lastingGain ? [] : moved.filter(isDrift);
        if (!first) return pass();
        const { quantity, from, to, step, beyond = 0 } = first;
        // A few rewards tell no gain from noise.
        const reward = (course.of('reward')?.points.length ?? 0) >= FEWEST;
        return inform({ what: quantity, from, to, ...datedOf(first), beyond, reward }, [
          entryAt(log, METRICS[quantity].name, step),
        ]);
      },
      says: (m) =>
        say`The ${m.what === 'length' ? 'mean length of the completions' : 'entropy'} ${m.to > m.from ? 'rose' : 'fell'} from ${m.from} to ${m.to} ${whenText(m)}${m.beyond > 0 ? say`, ${Math.round(m.beyond)} standard errors beyond its noise` : ''}${m.reward ? ', and the reward gained nothing that lasts: the policy changes, and not for what is paid' : '; whether the reward gained by it cannot be told from this log'}.`,
    }),
    logCheck({
      code: 'B61.length',
      title: 'The length does not run away without reward',
      stage: 'reward',
      level: 1,
      rank: 3,
      threshold: `reported when completions of the last eighth of ${FEWEST} entries or more are ${TIMES} times as long as those of the first, or a ${TIMES}th as long, beyond noise, while the reward gained less than the deviation within a group; of fewer entries, when no values before and after it are near to each other. A mean length that half of the entries have to the digit counts as the last`,
      sources: ['huggingface/open-r1#239', 'arXiv:2503.20783'],
      why: 'Reasoning that pays grows with the reward; a length that changes five-fold for nothing is paid by the reward or by the loss.',
      remedy:
        'Read the shortest and the longest completions with their rewards. Where length is paid for, change the reward; where the loss favours it, divide by a constant (dr_grpo) in place of the length.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B08', 'B16', 'B09', 'B30', 'B54'],
      settles: 'Reward against length of the completions of one step.',
      needs: ['completions/mean_length'],
      test(log): Outcome<Growth> {
        const length = log.course.of('length');
        const isShort = (length?.points.length ?? 0) < FEWEST;
        const short = isShort ? largeBreak(log.course, 'length') : undefined;
        if (!length || (isShort && !short)) return notApplicable(`${FEWEST} entries`);
        const { pinned } = length;
        const shift: Dated & { from: number; to: number; beyond?: number } =
          short ??
          (pinned.share >= 0.5
            ? { from: length.start, to: pinned.value, step: pinned.step, beyond: BEYOND_NOISE }
            : length.shift);
        const { from, to, step, beyond = BEYOND_NOISE } = shift;
        const isFar = (to >= TIMES * from || from >= TIMES * to) && beyond >= BEYOND_NOISE;
        const reward = log.course.of('reward');
        const gained = reward ? reward.end - reward.start : 0;
        if (!isFar || (reward && gained >= log.course.rewardUnit)) return pass({ from, to });
        const levels = reward && { start: reward.start, end: reward.end };
        return warn(
          {
            from,
            to,
            ...datedOf(shift),
            ...levels,
            moved: companionsOf(log.course, { quantity: 'length', ...shift }),
          },
          [entryAt(log, 'completions/mean_length', step)],
        );
      },
      ranges({ course }) {
        const { start } = course.of('length')!;
        return [{ metric: 'completions/mean_length', low: start / TIMES, high: start * TIMES }];
      },
      says: (m) => {
        const reward = m.end === undefined ? '' : say`, while the reward went from ${m.start!} to ${m.end}`;
        return m.to > m.from
          ? say`The completions grew from ${Math.round(m.from)} to ${Math.round(m.to)} tokens (${m.isLast ? whenText(m) : say`half of it by step ${m.step}`})${reward}${m.end === undefined ? '' : ': long for nothing'}. ${m.moved}`
          : say`The completions collapsed from ${Math.round(m.from)} to ${Math.round(m.to)} tokens (${m.isLast || m.isDrift ? whenText(m) : say`step ${m.step}`})${reward}: ${m.end === undefined || m.end < m.start! ? 'blank or nearly, as when the end token, the template or the weights of the sampler are wrong' : 'one short answer for everything, which the reward pays'}. ${m.moved}`;
      },
    }),
  ],
};

/** The entropy that is noise, or another policy than the one that the run began with. */
const noiseAfter = (start: number) => Math.min(NOISE, Math.max(1, GROWN * start));

/** The fall of the reward in a short log: far beyond all values before it, or beside another break of the policy. */
function shortLoss(log: LogView): Outcome<Fall> {
  const { shift, points } = log.course.of('reward')!;
  const fallen = shift.from - shift.to;
  const isFallen =
    points.length >= 8 && fallen > FALLEN * Math.abs(shift.from) && shift.beyond >= BEYOND_NOISE;
  const loss = lossOf(points, LOST) ?? (isFallen ? { ...shift, isSure: false } : undefined);
  if (!loss) return notApplicable(`${FEWEST} entries`);
  const { from, to, step, isSure } = loss;
  // Beside it is the next entry, too: each is a mean of several steps, or one of them.
  const beside = points[1 + points.findIndex((point) => point.step >= step)]?.step ?? step;
  const isBroken = (['entropy', 'length', 'cut', 'gradient'] as const).some((one) => {
    const broken = largeBreak(log.course, one) ?? movementOf(log.course, one);
    // A gradient also falls because all completions earn nothing.
    return broken && broken.step <= beside && (one !== 'gradient' || broken.to > broken.from);
  });
  if (!isSure && !isBroken) return notApplicable(`${FEWEST} entries`);
  const moved = companionsOf(log.course, { quantity: 'reward', from, to, step });
  return warn({ from, to, ...datedOf(loss), moved, isLost: true, isWorse: false, isStill: isStill(log) }, [
    entryAt(log, 'reward', step),
  ]);
}

/** Whether two of what tells of the policy are there, and none of it moved. */
function isStill({ course }: LogView): boolean {
  const there = POLICY.filter((quantity) => course.of(quantity));
  return there.length > 1 && there.every((quantity) => !movementOf(course, quantity));
}

/** The share of the entries at a step or later. */
const shareAfter = ({ steps }: LogView, step: number) =>
  steps.filter((one) => one >= step).length / steps.length;
