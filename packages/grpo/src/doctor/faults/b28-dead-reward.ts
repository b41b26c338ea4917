import { isFlat, mean, withoutNaN } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import { FLAT_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { at, fromTheStart, functionOf, rewardNames } from '../log-view.js';
import { FORM } from '../measures/grades.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** Names of penalties, which are 0 where there is nothing to penalise. */
const PENALTY = /penal|punish|overlong|repeti|length/i;
/** Fewest steps for which a constant metric is evidence, and for which it is worth a word. */
const [LONG, FEW] = [20, 2];

/** Share of entries without a reward from which it is worth a word, and decimals of a zero that are nothing. */
const [MOSTLY, DECIMALS] = [2 / 3, 3];

/** A reward that is hit by chance: fewest steps, share of entries without it, and the form that is learnt meanwhile. */
const RARE = { steps: 40, zeros: 0.8, formed: 0.8 };

export const b28: Fault = {
  code: 'B28',
  name: 'dead reward',
  title: 'A reward can never be earned',
  checks: [
    stepCheck({
      code: 'B28.head',
      title: 'A reward model was trained to give scores',
      stage: 'reward',
      level: 4,
      rank: 2,
      threshold: 'the checkpoint of no reward model is that of a language model',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Loaded for scores, a language model gets a new head with random weights, and transformers only warns.',
      remedy:
        'Name a model that was trained as a reward model, whose config.json says ForSequenceClassification.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'The scores of a good and a bad answer, from two loads of the model: a random head differs.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { headless } }) {
        if (!headless) return notApplicable('probes.headless');
        const measured = { models: headless.length, names: headless.join(', ') };
        return headless.length > 0 ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`The reward model ${m.names} is a language model: its head for scores is in no checkpoint and has random weights, so the reward is noise that stays the same.`,
    }),
    logCheck({
      code: 'B28.log',
      title: 'Every reward with a weight pays at some time',
      stage: 'reward',
      level: 4,
      rank: 4,
      threshold: `no reward is one value of 0 or less, with deviation 0, in every entry of ${LONG} steps or more; a penalty of 0 is healthy. Only informs in a run that learns`,
      sources: ['huggingface/open-r1#560', 'huggingface/open-r1#489'],
      why: 'A format that no completion can match pays nothing in any step. Twenty steps are hundreds of completions.',
      remedy: 'Test the function on a text that should earn it: a pattern that cannot match never pays.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Grade a gold completion with this reward.',
      proofs: ['native'],
      needs: ['reward'],
      test(log) {
        const names = rewardNames(log);
        if (names.length === 0) return notApplicable('rewards/NAME/mean');
        const judged = names.filter((name) => log.stepsWith(`rewards/${name}/mean`) >= LONG);
        if (judged.length === 0) return notApplicable(`${LONG} steps`);
        const dead = judged.flatMap((name): Evidence[] => {
          const means = log.column(`rewards/${name}/mean`);
          const values = withoutNaN(means);
          const [first] = values as [number];
          // A reward that every completion earns is done, not dead.
          const nothing = PENALTY.test(name) ? first < 0 : first <= 0;
          const isDead =
            nothing &&
            isFlat(values) &&
            withoutNaN(log.column(`rewards/${name}/std`)).every((std) => std === 0);
          return isDead ? [at(log, means.indexOf(first), name, first)] : [];
        });
        const measured = {
          rewards: names.length,
          dead: dead.length,
          steps: log.stepsWith('reward'),
          learns: log.course.learnt,
          names: dead.map(({ text }) => text!).join(', '),
        };
        if (dead.length === 0) return pass(measured);
        return measured.learns ? inform(measured, dead) : warn(measured, dead);
      },
      says: (m) =>
        say`${m.dead} of ${m.rewards} rewards never pay in ${m.steps} steps: ${m.names}. ${m.dead === m.rewards && !m.learns ? 'Nothing is rewarded.' : 'Only the others train.'}`,
    }),
    logCheck({
      code: 'B28.few',
      title: 'No reward is one value in each entry of a short log',
      stage: 'reward',
      level: 4,
      rank: 6,
      threshold: `in a log of ${FEW} to ${LONG - 1} steps, no reward is one value in every entry while another, or the total, varies; a penalty of 0 and a reward that all earn are healthy. It only informs`,
      sources: ['huggingface/open-r1#239'],
      why: 'Seen in runs whose format could not match, and in one whose accuracy was a fallback of 0.5 for every completion.',
      remedy: 'Test the function on a text that should earn more, and on one that should earn less.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Grade a gold completion, and an empty one, with this reward.',
      needs: ['reward'],
      test(log) {
        const names = rewardNames(log);
        const valuesOf = (name: string) => withoutNaN(log.column(`rewards/${name}/mean`));
        const judged = names.filter((name) => valuesOf(name).length >= FEW);
        if (judged.length === 0 || log.stepsWith('reward') >= LONG)
          return notApplicable(`rewards/NAME/mean over ${FEW} to ${LONG - 1} steps`);
        const still = judged.filter((name) => isFlat(valuesOf(name)));
        const isVaried = still.length < judged.length || !isFlat(withoutNaN(log.column('reward')));
        const dead = still.filter((name) => {
          const [value] = valuesOf(name) as [number];
          return value !== 1 && !(value === 0 && PENALTY.test(name));
        });
        const measured = {
          rewards: judged.length,
          entries: valuesOf(judged[0]!).length,
          what: dead.map((name) => say`${name} is ${valuesOf(name)[0]!}`).join(', '),
        };
        return dead.length > 0 && isVaried
          ? inform(
              measured,
              dead.flatMap((name) => fromTheStart(log, `rewards/${name}/mean`)),
            )
          : pass(measured);
      },
      says: (m) =>
        say`${m.rewards === 1 ? 'The reward' : say`Of ${m.rewards} rewards`} ${m.what} in each of ${m.entries} entries: no completion has earned more yet, or the function gives every one the same.`,
    }),
    logCheck({
      code: 'B28.nothing',
      title: 'Some completion of a short log earns something',
      stage: 'reward',
      level: 4,
      rank: 4,
      threshold: `in a log of fewer than ${LONG} steps, and of fewer than ${FLAT_ENTRIES} entries where it has a share of flat groups, the reward is 0 in fewer than ${percent(MOSTLY)} of the entries, or negative in one, or has a deviation. It only informs: gains and losses may cancel out`,
      sources: ['huggingface/open-r1#239'],
      why: 'A mean of exactly 0 is the mean of zeros, unless rewards of both signs sum to it.',
      remedy:
        'Grade a gold completion: without a reward the function is wrong. With one the task is too hard to begin with: use easier problems, a reward in parts, or train on examples first.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      induces: ['B30'],
      settles: 'The completions of one step with their rewards.',
      needs: ['reward'],
      test(log): Outcome<{ entries: number; zeros: number }> {
        const rewards = withoutNaN(log.column('reward'));
        // B20.log judges flat groups, from some entries on.
        const isJudged = log.has('frac_reward_zero_std') && rewards.length >= FLAT_ENTRIES;
        if (rewards.length === 0 || log.stepsWith('reward') >= LONG || isJudged)
          return notApplicable(`a reward over fewer than ${LONG} steps, without a share of flat groups`);
        const zeros = rewards.filter((reward) => reward === 0).length;
        const measured = { entries: rewards.length, zeros };
        // A column of zeros alone prints each as `0.0`.
        const isRounded = zeros < rewards.length && (log.series.decimals?.reward ?? DECIMALS) < DECIMALS;
        const isSpread = withoutNaN(log.column('reward_std')).some((deviation) => deviation > 0);
        const isOfBothSigns = rewards.some((reward) => reward < 0);
        return zeros < MOSTLY * rewards.length || isRounded || isSpread || isOfBothSigns
          ? pass(measured)
          : inform(measured, [at(log, log.column('reward').indexOf(0), 'reward', 0)]);
      },
      says: (m) =>
        say`The reward is 0 in ${m.zeros === m.entries ? (m.entries === 1 ? 'the one entry' : say`all ${m.entries} entries`) : say`${m.zeros} of ${m.entries} entries`}: unless gains and losses cancel out, no completion earned anything there, and equal rewards have no signal.`,
    }),
    logCheck({
      code: 'B28.chance',
      title: 'The answer is right at times where its form is',
      stage: 'reward',
      level: 4,
      rank: 5,
      threshold: `over ${RARE.steps} steps or more, no reward named for the answer is 0 in ${RARE.zeros} of the entries or more and does not rise, while one named for the format ends above ${RARE.formed}`,
      why: 'Seen in a run whose gold answers were shifted by one row: six hits by chance in 60 steps, while the format was learnt.',
      remedy:
        'Grade a gold completion of some problems, and read prompt, gold answer and completion side by side.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The grade of a gold completion: 1 means that the task is too hard for the model.',
      proofs: ['log only'],
      needs: [],
      test(log) {
        const { answers: named, others } = log.course.functions;
        const last = (metric: string) => mean(withoutNaN(log.column(metric)).slice(-5));
        const formed = others.find((metric) => FORM.test(metric) && last(metric) > RARE.formed);
        const answers = named.filter((metric) => log.stepsWith(metric) >= RARE.steps);
        if (!formed || answers.length === 0)
          return notApplicable(`a reward for the answer over ${RARE.steps} steps beside one for the format`);
        const rare = answers.flatMap((metric) => {
          const values = withoutNaN(log.column(metric));
          const hits = values.filter((value) => value > 0).length;
          const late = values.slice(values.length >> 1).filter((value) => value > 0).length;
          const isRare = hits <= (1 - RARE.zeros) * values.length && 2 * late <= hits + 2;
          return isRare && hits > 0
            ? [{ name: functionOf(metric), hits, entries: values.length, formed: functionOf(formed) }]
            : [];
        });
        return rare[0] ? warn(rare[0]) : pass({ name: '', hits: 0, entries: 0, formed: functionOf(formed) });
      },
      says: (m) =>
        say`The reward ${m.name} pays in ${m.hits} of ${m.entries} entries only, and not more in the end, while ${m.formed} is earned: either the task is too hard, or the gold answers belong to other prompts or are compared in another form.`,
    }),
  ],
};
