import { largest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { longestRun } from '../../maths/trend.js';
import { logCheck, stepCheck } from '../check.js';
import { datedOf, largeBreak, type Movement, movementOf, whenText } from '../course/movements.js';
import { BEYOND_NOISE, ENOUGH_STEPS } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { at, entryAt, type LogView } from '../log-view.js';
import { fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Cosine of two gradients below which they oppose each other. */
const OPPOSED = -0.1;
/** The entropy of a policy that has one answer for each prompt, to that of its start. */
const COLLAPSED = 0.02;
/** Share of clipped tokens from which most teach nothing. */
const MOSTLY_CLIPPED = 0.5;
/** Share above all that healthy runs clip. */
const OFTEN_CLIPPED = 0.25;
/** A gradient norm that runs away, to that of the start. */
const RUNAWAY = 5;
/** That of a short log, whose gradients differ by up to ten times. */
const GROWN = 20;
/** Most entries at a rate of 0 with which a schedule ends. */
const MOST_AT_ZERO = 5;
/** Part of the largest rate that is nothing, and that at which it is back. */
const [NO_RATE, BACK] = [1e-3, 0.5];
/** Fewest entries whose learning rates show a rise to the end. */
const RISING = 10;

/** A gradient norm that no mean over tokens has. */
const HUGE = 1e4;
/** Nat per token between new and old policy that is far for the updates of one rollout, also as a multiple of what is usual. */
const [FAR, FAR_TIMES] = [0.1, 10];
/** Such a KL between two policies leaves nothing of the older one, whatever came before. */
const TOO_FAR = 1;
/** Share of clipped tokens that no policy has: at small steps half of the ratios lie within their bounds. */
const ALL_CLIPPED = 0.99;
/** Learning rate below which adapters hardly move: the usual default for all weights is 1e-6. */
const ADAPTER_RATE = 2e-6;
/** Largest alpha ÷ rank of adapters: 32 at rank 1 is in use. */
const ADAPTER_FACTOR = 64;
/** A factor below which the rate must make up for it, and what both come to at least. */
const [ADAPTER_FACTOR_LEAST, ADAPTER_LEAST] = [0.05, 1e-5];

/** Cosine that weight decay and rounding may turn an update to. */
const UPHILL = -0.05;

/** Share of a weight that decay takes away with an update. */
const DECAY = 1e-3;

export const b54: Fault = {
  code: 'B54',
  name: 'optimizer settings',
  title: 'The learning rate or clipping is wrong, or training becomes unstable',
  checks: [
    stepCheck({
      code: 'B54.adapters',
      title: 'Adapters have a learning rate and a factor of their own',
      stage: 'configuration',
      // It is so from the start: nothing that the run did is its cause.
      level: 1,
      rank: 9,
      threshold: `the declared learning rate of adapters is ${ADAPTER_RATE} or more, and alpha ÷ rank at most ${ADAPTER_FACTOR}, and times the rate at least ${ADAPTER_LEAST} where it is below ${ADAPTER_FACTOR_LEAST}`,
      why: 'Adapters want about ten times the learning rate of all weights, and trainers have a default for the latter: 1e-6 moved log-probs by 0.0015 nats in twelve steps. Their factor, alpha ÷ rank, multiplies what they add: at 256 one update moved the policy by 0.6 nats a token, at 0.003 forty moved nothing.',
      remedy: 'Begin with 1e-5 to 1e-4 for adapters, and an alpha of one or two times the rank.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B03', 'B17', 'B20', 'B26', 'B30', 'B31', 'B49', 'B61'],
      settles: 'The KL after some tens of steps: about 0 means that the policy has not moved.',
      proofs: ['TRL run'],
      needs: ['declared'],
      test({ declared: { lora, optimizer } }) {
        const [rank, rate] = [lora?.rank, optimizer?.learningRate];
        if (!rank || rate === undefined) return notApplicable('declared.lora and a learning rate');
        const measured = { rank, rate, factor: (lora?.alpha ?? rank) / rank };
        const isSlow = rate > 0 && rate < ADAPTER_RATE;
        const isLost = measured.factor < ADAPTER_FACTOR_LEAST && measured.factor * rate < ADAPTER_LEAST;
        return (isSlow || isLost || measured.factor > ADAPTER_FACTOR ? warn : pass)(measured);
      },
      says: ({ rank, rate, factor }) =>
        factor > ADAPTER_FACTOR
          ? say`What the adapters add is multiplied by ${factor}: alpha is that many times the rank of ${rank}, and one or two times is usual. An update moves the policy as much further.`
          : factor < ADAPTER_FACTOR_LEAST
            ? say`What the adapters add is multiplied by ${factor}: the rank of ${rank} is that much larger than alpha, and one or two times is usual. The model hardly changes, whatever they learn.`
            : say`Adapters of rank ${rank} are trained with a learning rate of ${rate}: that is one for all weights, and adapters hardly move with it.`,
    }),
    stepCheck({
      code: 'B54.decay',
      title: 'Weight decay leaves the weights what they are',
      stage: 'optimizer',
      level: 7,
      rank: 5,
      threshold: `the declared learning rate × weight decay is below ${DECAY} an update`,
      why: 'Decay takes that share of every weight away with each update, whatever the gradient says. Usual are 1e-4 to 1e-8; at 0.01 a model unlearnt its task in forty steps.',
      remedy: 'Use a weight decay of 0 to 0.1: it is multiplied by the learning rate.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B61', 'B62', 'B54'],
      settles: 'The norm of a large matrix at the first and at the last checkpoint.',
      proofs: ['TRL run'],
      needs: ['declared'],
      test({ declared: { optimizer } }) {
        const { learningRate: rate, weightDecay: decay } = optimizer ?? {};
        if (rate === undefined || decay === undefined)
          return notApplicable('a declared rate and weight decay');
        const measured = { rate, decay, share: rate * decay };
        return (measured.share >= DECAY ? warn : pass)(measured);
      },
      says: (m) =>
        say`A weight decay of ${m.decay} at a learning rate of ${m.rate} takes ${percent(m.share)} of every weight away with each update: half of it is gone after ${Math.round(Math.log(2) / m.share)} of them.`,
    }),
    stepCheck({
      code: 'B54.schedule',
      title: 'The schedule is that of the optimizer that trains',
      stage: 'optimizer',
      level: 4,
      rank: 1,
      threshold: 'the schedule of the learning rate holds the very optimizer that makes the updates',
      why: 'Seen in a script that made its optimizer anew after the schedule: the logged rate fell as planned, and the one of the updates stayed what it was.',
      remedy: 'Make the schedule of the optimizer that the trainer gets, and pass both together.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B54', 'B52', 'H07'],
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { schedulesAnother } }) {
        if (schedulesAnother === undefined) return notApplicable('probes.schedulesAnother');
        return schedulesAnother ? fail({}) : pass({});
      },
      says: () =>
        'The schedule of the learning rate sets the rates of another optimizer: the logged rate is not the one that trains.',
    }),
    logCheck({
      code: 'B54.rate',
      title: 'The learning rate is above 0, and its warm-up ends',
      stage: 'optimizer',
      level: 7,
      rank: 3,
      threshold: `above 0 in some entry, and in one of the last tenth, or of the last ${MOST_AT_ZERO} where a tenth is fewer, or of the last 3 where those are a quarter; over ${RISING} entries or more not in equal steps up to the last. Once it has fallen to 0 it does not climb to half of the largest again; one that jumps there restarts. A rise to the last only informs, unless the reward stands still over ${ENOUGH_STEPS} steps, or the run is over with it`,
      why: 'It separates lost updates from a warm-up that never ends: one longer than the run trains at a small part of the rate.',
      remedy: 'Check schedule and warm-up against the number of steps.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B52', 'B58'],
      settles: 'The learning rate that the formula of the schedule gives for each step.',
      proofs: ['native'],
      needs: ['learning_rate'],
      test(log): Outcome<{
        entries: number;
        largest: number;
        over?: number;
        since?: number;
        ended?: boolean;
        low?: number;
      }> {
        const rates = withoutNaN(log.column('learning_rate'));
        const measured = { entries: rates.length, largest: largest(rates) };
        if (log.isRounded('learning_rate') && measured.largest === 0)
          return notApplicable('a rate that is not rounded to 0');
        if (measured.largest === 0) return rates.length >= 3 ? warn(measured) : pass(measured);
        if (log.isRounded('learning_rate')) return pass(measured);
        const last = 1 + [...rates].findLastIndex((rate) => rate > 0);
        const over = rates.length - last;
        const isOver = over >= Math.max(MOST_AT_ZERO, rates.length / 10);
        if (isOver || (over >= 3 && over >= rates.length / 4))
          return warn({ ...measured, over, since: log.steps.at(-over)! });
        const low = lowBeforeClimb(log.column('learning_rate'), measured.largest);
        if (low !== undefined) return warn({ ...measured, low: log.steps[low]! });
        if (!risesEvenly(rates)) return pass(measured);
        const { lastStep } = log.series;
        const ended = lastStep !== undefined && log.steps.at(-1)! >= lastStep;
        return isIdle(log) || ended ? warn({ ...measured, ended }) : inform(measured);
      },
      says: (m) =>
        m.largest === 0
          ? say`The learning rate is 0 in all ${m.entries} entries.`
          : m.over !== undefined
            ? say`The learning rate is 0 in the last ${m.over} of ${m.entries} entries, from step ${m.since!} on: the schedule is over, and nothing is learnt any more.`
            : m.low !== undefined
              ? say`The learning rate falls to 0 at step ${m.low} and climbs back: the schedule has a period that is a part of the run, such as a cosine whose T_max is not the number of updates.`
              : say`The learning rate rises in equal steps to the last of ${m.entries} entries (${m.largest}): the warm-up ${m.ended ? 'was not over when the run was, so that all of it had a small part of the rate' : 'is not over'}.`,
    }),
    stepCheck({
      code: 'B54.uphill',
      title: 'The first update goes down the gradient',
      stage: 'optimizer',
      level: 7,
      rank: 1,
      threshold: `at step 1 the cosine between the first update and the negative gradient is above ${UPHILL}: no optimizer remembers anything there`,
      why: 'A step of SGD, AdamW, Lion or Muon whose moments are empty has a positive product with the negative gradient; weight decay hardly turns it.',
      remedy:
        'Look at the sign: maximize=True of the optimizer, a loss that was negated twice, an override of the update.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B61', 'B49', 'B54', 'H07'],
      proofs: ['TRL run'],
      needs: ['firstUpdate'],
      test({ firstUpdate: { descent } }, { step }) {
        if (descent === undefined || step !== 1) return notApplicable('updates.descent of step 1');
        return descent > UPHILL ? pass({ descent }) : fail({ descent });
      },
      says: (m) =>
        say`The first update goes up the gradient: its cosine with the negative gradient is ${m.descent}. It raises the loss, so that what should be learnt is unlearnt.`,
    }),
    stepCheck({
      code: 'B54.moments',
      title: 'After a checkpoint the optimizer goes on with its moments',
      stage: 'optimizer',
      level: 7,
      rank: 1,
      threshold:
        'an optimizer that counts its updates has counted some before the first update after a checkpoint',
      why: 'Seen in a run that went on from a checkpoint of the weights alone (save_only_model): the moments and the schedule began anew in the middle of the run.',
      remedy:
        'Save the optimizer and the schedule with the weights (save_only_model=False in TRL), and go on from such a checkpoint.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B54', 'H07'],
      proofs: ['TRL run'],
      needs: ['firstUpdate'],
      test({ firstUpdate: { resumed } }) {
        if (!resumed) return notApplicable('updates.resumed');
        return resumed.counted === 0 ? fail(resumed) : pass(resumed);
      },
      says: (m) =>
        say`Training went on after ${m.made} updates with an optimizer that knew of none: its moments were not in the checkpoint, and the rate may begin anew with it.`,
    }),
    logCheck({
      code: 'B54.conflict',
      title: 'Gradients of two kinds of problems do not oppose each other',
      stage: 'optimizer',
      level: 8,
      rank: 2,
      threshold: 'no three measurements in a row of grad_cosine below −0.1',
      why: 'Seen in a run of two kinds of problems. That run itself counted three cosines below −0.1 as a conflict.',
      remedy:
        'Train the kinds one after the other, or lower the share of one; look for prompts that ask the same and rewards that pay the opposite.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'A run of each kind alone: its reward rises there, but not in the mixed run.',
      needs: ['grad_cosine'],
      test(log) {
        const cosines = log.column('grad_cosine');
        // Between measurements there are entries without.
        const places = [...cosines.keys()].filter((i) => !Number.isNaN(cosines[i]!));
        const { start, length } = longestRun(
          places.map((i) => cosines[i]!),
          (cosine) => cosine < OPPOSED,
        );
        const measured = { entries: places.length, inARow: length, least: Math.min(...withoutNaN(cosines)) };
        if (length < 3) return pass(measured);
        return warn(
          measured,
          places.slice(start, start + length).map((i) => at(log, i, 'grad_cosine', cosines[i]!)),
        );
      },
      ranges: () => [{ metric: 'grad_cosine', low: OPPOSED }],
      says: (m) =>
        say`The gradients of two kinds of problems oppose each other in ${m.inARow} measurements in a row (cosine down to ${m.least}): what one learns the other unlearns.`,
    }),
    logCheck({
      code: 'B54.entropy',
      title: 'The entropy does not collapse',
      stage: 'loss',
      level: 8,
      rank: 4,
      threshold: `the last eighth of the entries above 2 % of the first; what is low depends on task and phase, so it only informs, unless the reward stands still over ${ENOUGH_STEPS} steps. 0 in every entry is a monitor that nobody feeds`,
      sources: ['verl-project/verl#5953'],
      why: 'Systems disagree: below 0.5 is collapse for one, 0.05 to 0.5 healthy for another.',
      remedy:
        'If the reward stands still as well, raise the temperature or clipHigh, or add an entropy bonus.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The reward: low entropy with a high reward is a task that is learnt.',
      needs: ['entropy'],
      test(log) {
        const entropy = log.course.of('entropy');
        if (!entropy || entropy.points.length < 10) return notApplicable('10 entries');
        if (entropy.share((value) => value !== 0) === 0) return notApplicable('an entropy that is measured');
        const { from: first, to: last, step } = entropy.shift;
        const idle = isIdle(log);
        const measured = { entries: entropy.points.length, first, last, learnt: log.course.isHigh, idle };
        if (last >= COLLAPSED * first) return pass(measured);
        const evidence = [entryAt(log, 'entropy', step)];
        return idle ? warn(measured, evidence) : inform(measured, evidence);
      },
      ranges: ({ course }) => [{ metric: 'entropy', low: COLLAPSED * course.of('entropy')!.start }],
      says: (m) =>
        say`The entropy fell from ${m.first} to ${m.last} nats per token: one answer for each prompt${m.learnt ? ', at a high reward, as when the task is learnt' : m.idle ? ', while the reward stood still' : ''}.`,
    }),
    logCheck({
      code: 'B54.gradient',
      title: 'The gradient norm does not run away',
      stage: 'optimizer',
      level: 8,
      rank: 6,
      threshold: `over 16 entries or more, the last eighth at most 5 × the first, or within its noise; over fewer, no growth by ${GROWN} × without a reward that gains; single entries above 30 × the median, of 4 or more, only inform`,
      sources: ['huggingface/trl#2980', 'modelscope/ms-swift#3136', 'huggingface/open-r1#257'],
      why: 'A rising gradient norm points at a mismatch of sampler and trainer. Entries of a healthy run differ by up to a factor of 10.',
      remedy:
        'Lower the learning rate or tighten the clip; look at the KL and at the gap between sampler and trainer.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Which term grows: policy, KL or entropy, in the records of two steps.',
      needs: ['grad_norm'],
      test(log): Outcome<{
        usual: number;
        worst: number;
        spikes: number;
        entries: number;
        isLasting: boolean;
        isLast?: boolean;
        isDrift?: boolean;
        stays?: boolean;
        step: number;
      }> {
        const gradient = log.course.of('gradient');
        if (!gradient || gradient.points.length < 4) return notApplicable('16 entries');
        const norms = gradient.points.map(({ value }) => value);
        const usual = median(norms);
        // The first steps of a run may be large.
        const spikes = gradient.points.slice(norms.length >> 3).filter(({ value }) => value > 30 * usual);
        const grown = norms.length < 16 ? growth(log) : undefined;
        if (grown) {
          const { from, to, step } = grown;
          const measured = {
            entries: norms.length,
            spikes: 0,
            isLasting: true,
            usual: from,
            worst: to,
            ...datedOf(grown),
            stays: gradient.stays(grown),
          };
          return warn(measured, [entryAt(log, 'grad_norm', step)]);
        }
        if (norms.length < 16 && spikes.length === 0) return notApplicable('16 entries');
        const { from, to, step, beyond } = gradient.shift;
        // The last eighth of a short run may be one spike.
        const far = RUNAWAY * from;
        const isLasting =
          norms.length >= 16 && to > far && beyond >= BEYOND_NOISE && median(norms.slice(-5)) > far;
        const isLast = spikes.at(-1) === gradient.points.at(-1);
        const measured = { entries: norms.length, spikes: spikes.length, isLasting, isLast };
        if (isLasting)
          return warn(
            {
              ...measured,
              usual: from,
              worst: to,
              ...datedOf(gradient.shift),
              stays: gradient.stays(gradient.shift),
            },
            [entryAt(log, 'grad_norm', step)],
          );
        const [first] = spikes;
        if (!first) return pass({ usual, worst: largest(norms) });
        return inform(
          { ...measured, usual, worst: largest(norms), step: first.step },
          spikes.map((one) => ({ step: one.step, text: 'grad_norm', values: { value: one.value } })),
        );
      },
      ranges: ({ course }) => [{ metric: 'grad_norm', high: RUNAWAY * course.of('gradient')!.start }],
      says: (m) =>
        m.isLasting
          ? say`The gradient norm grew from ${m.usual} to ${m.worst} ${whenText(m)}${m.stays ? ' and stayed there' : ''}.`
          : say`The gradient norm jumped in ${m.spikes} of ${m.entries} entries, first at step ${m.step} (up to ${m.worst}; its median is ${m.usual})${m.isLast ? '' : ', and came back'}.`,
    }),
    logCheck({
      code: 'B54.size',
      title: 'The gradient norm has a size that a mean over tokens has',
      stage: 'optimizer',
      level: 8,
      rank: 5,
      threshold: `median of the norms at most ${HUGE}, and the last one at most ${100 * HUGE}`,
      why: 'Norms of a loss that is a mean over tokens lie between 0.01 and some hundreds, before they are clipped. Reported ones of 1e5 to 3e9 came of exploding runs, of a scale that was not undone, and of log-probs of impossible tokens.',
      remedy:
        'Look at what the loss is divided by, at a loss scale that is not undone, at tokens with a log-prob below −50, and at the parameter whose gradient is largest.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The norm of one micro-batch in float32, by parameter.',
      proofs: ['native'],
      needs: ['grad_norm'],
      test(log) {
        const norms = withoutNaN(log.column('grad_norm'));
        const measured = { entries: norms.length, usual: median(norms), last: norms.at(-1) ?? 0 };
        return measured.usual > HUGE || measured.last > 100 * HUGE ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The gradient norm is ${m.usual > HUGE ? m.usual : m.last} ${m.usual > HUGE ? say`in the median of ${m.entries} ${m.entries === 1 ? 'entry' : 'entries'}` : 'in the last entry'}: no mean over tokens has such a gradient. A clip makes it a step of full length in a direction that a few tokens decide.`,
    }),
    logCheck({
      code: 'B54.jump',
      title: 'One update does not move the policy far',
      stage: 'loss',
      level: 8,
      rank: 7,
      threshold: `KL between new and old policy at most ${FAR} nat per token in every entry, or ${FAR_TIMES} × the median of two entries or more before it; a jump informs, and warns where the reward then fell by a third of its best or more. Above ${TOO_FAR} nat in any entry it warns`,
      sources: ['arXiv:1707.06347'],
      why: 'Implementations of PPO stop the updates of a rollout at 0.01 to 0.05. Seen at 0.119 in a run that was at 0.001 before, and whose reward fell from 0.94 to 0.26 in the ten steps after it.',
      remedy:
        'Lower the learning rate, make fewer updates from each rollout, or stop them at a KL; go on from a checkpoint before the jump. Where it is so from the start, compare the log-probs that updates begin with to those of the policy: they must be equal.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The ratios of that step: which tokens moved, and their advantages.',
      needs: ['kl/old'],
      test(log): Outcome<Jump> {
        const old = log.course.pointsOf('kl/old');
        const far = old.find(({ value }) => value > TOO_FAR);
        if (far) {
          const { step, value } = far;
          return warn({ entries: old.length, value, step }, [entryAt(log, 'kl/old', step)]);
        }
        if (old.length < 3) return notApplicable('3 entries');
        const usualBefore = (i: number) => median(old.slice(0, i).map(({ value }) => value));
        const place = old.findIndex(
          ({ value }, i) => i >= 2 && value > FAR && value > FAR_TIMES * usualBefore(i),
        );
        const jump = old[place];
        if (!jump) return pass({ entries: old.length });
        const rewards = log.course.pointsOf('reward');
        const valuesWhere = (isIn: (step: number) => boolean) =>
          rewards.filter(({ step }) => isIn(step)).map(({ value }) => value);
        const before = valuesWhere((step) => step < jump.step);
        const after = valuesWhere((step) => step >= jump.step);
        const measured = {
          entries: old.length,
          usual: usualBefore(place),
          value: jump.value,
          step: jump.step,
        };
        const evidence = [{ step: jump.step, text: 'kl/old', values: { value: jump.value } }];
        if (before.length === 0 || after.length < 2) return inform(measured, evidence);
        const [best, late] = [largest(before), median(after.slice(-3))];
        return best > 0 && late < (2 / 3) * best
          ? warn({ ...measured, best, late }, evidence)
          : inform(measured, evidence);
      },
      says: (m) =>
        say`At step ${m.step!} the updates moved the policy ${m.value!} nat per token away from the one that sampled${m.usual === undefined ? ': none of it is left' : say`, where ${m.usual} was usual`}${m.best === undefined ? '' : say`; the reward, ${m.best} at best before it, is ${m.late!} after it`}.`,
    }),
    logCheck({
      code: 'B54.ratio',
      title: 'Most tokens stay within the clip of the ratio',
      stage: 'loss',
      level: 4,
      rank: 9,
      threshold: `a share of clipped tokens of at most ${MOSTLY_CLIPPED} in the median of the last quarter of 8 entries or more; above ${OFTEN_CLIPPED} it informs`,
      why: 'Healthy runs clip a few per cent of the tokens, those with sequence ratios and their small bounds some 15 %.',
      remedy:
        'Look at the gap between sampler and trainer first: stale weights, another temperature, or wrong old log-probs. Else make fewer updates from each rollout, or lower the learning rate.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles:
        'The ratios of the first update of a step: they are 1 where the old log-probs are those of the policy.',
      needs: ['clip_ratio/region_mean'],
      test(log) {
        const shares = withoutNaN(log.column('clip_ratio/region_mean'));
        if (shares.length < 8) return notApplicable('8 entries');
        const last = shares.slice(-Math.ceil(shares.length / 4));
        const measured = { entries: shares.length, share: median(last) };
        if (measured.share > MOSTLY_CLIPPED) return warn(measured);
        return measured.share > OFTEN_CLIPPED ? inform(measured) : pass(measured);
      },
      ranges: () => [{ metric: 'clip_ratio/region_mean', high: OFTEN_CLIPPED }],
      says: (m) =>
        m.share > ALL_CLIPPED
          ? 'Every token counts as clipped, which no policy does: the bounds are swapped, or the ratio is compared with something else. A clamp of swapped bounds is a constant, without a gradient.'
          : say`At the end the ratio of ${percent(m.share)} of the tokens is clipped: the policy is far from the one that it is compared with, ${m.share > MOSTLY_CLIPPED ? 'and most tokens teach nothing' : 'or its log-probs are computed otherwise than those'}.`,
    }),
    logCheck({
      code: 'B54.clipped',
      title: 'The gradient is not clipped on every step',
      stage: 'optimizer',
      level: 8,
      rank: 6,
      threshold: 'norm above the declared clip in less than 95 % of 20 entries or more',
      why: 'Above the clip the step is lr ÷ norm; one run had a norm of 24 against a clip of 1.',
      remedy: 'Do nothing if the run learns; else raise the clip or scale the loss down.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'A run with ten times the clip beside this one.',
      needs: ['grad_norm'],
      test(log) {
        const { maxGradNorm } = log.declared.optimizer ?? {};
        const norms = withoutNaN(log.column('grad_norm'));
        if (!maxGradNorm || norms.length < 20) return notApplicable('a declared clip, and 20 entries');
        const share = norms.filter((norm) => norm > maxGradNorm).length / norms.length;
        const measured = { entries: norms.length, clip: maxGradNorm, share };
        return share >= 0.95 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`The gradient is clipped in ${percent(m.share)} of the steps (at ${m.clip}): the clip sets the step size.`,
    }),
  ],
};

/** The growth of the gradient norm in a short log, of several entries. A reward that begins to pay brings a gradient, too. */
function growth({ course }: LogView): Movement | undefined {
  const found = largeBreak(course, 'gradient');
  const moved = movementOf(course, 'gradient');
  // One small norm at the start is none to grow from.
  const first = course
    .of('gradient')!
    .points.slice(0, 2)
    .map(({ value }) => value);
  const isSure = moved?.beyond !== undefined && moved.to >= GROWN * largest(first);
  const grown = found?.isShown ? found : isSure ? moved : undefined;
  const reward = course.of('reward');
  const isPaid = reward !== undefined && reward.end - reward.start >= course.rewardUnit;
  return grown && grown.to > grown.from && !isPaid ? grown : undefined;
}

/** An update that moved the policy far, and the reward if it fell. */
type Jump = Partial<Record<'usual' | 'value' | 'step' | 'best' | 'late', number>> & { entries: number };

/** Whether each rate is above the one before by about the same. */
function risesEvenly(rates: ArrayLike<number>): boolean {
  const steps = Array.from({ length: rates.length - 1 }, (_, i) => rates[i + 1]! - rates[i]!);
  const most = largest(steps);
  return rates.length >= RISING && most > 0 && steps.every((step) => step > 0.8 * most);
}

/** The place of a rate of about 0 from which the rates climb back little by little; a restart jumps. */
function lowBeforeClimb(rates: ArrayLike<number>, largest: number): number | undefined {
  const all = Array.from(rates);
  const begun = all.findIndex((rate) => rate >= BACK * largest);
  const low = all.findIndex((rate, i) => i > begun && rate <= NO_RATE * largest);
  if (low < 0) return undefined;
  const next = all.findIndex((rate, i) => i > low && rate > NO_RATE * largest);
  const isBack = all.some((rate, i) => i > next && rate >= BACK * largest);
  return next > 0 && all[next]! < BACK * largest && isBack ? low : undefined;
}

/** Whether the reward of a long run stands still, below what it can be. */
const isIdle = ({ course }: LogView): boolean =>
  course.of('reward') !== undefined && course.isLong && !course.gain && !course.collapse && !course.isHigh;
