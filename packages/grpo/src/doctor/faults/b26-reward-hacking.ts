import { largest, smallest, sum } from '../../maths/moments.js';
import { slope } from '../../maths/trend.js';
import { CANARY } from '../../trace/index.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import { ENOUGH_STEPS } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { entryAt, functionOf, rewardNames } from '../log-view.js';
import { logChoose } from '../measures/answer-order.js';
import { judgeGrader, ruleText, SETTLES, SHARE } from '../measures/canaries.js';
import { byReward } from '../measures/grades.js';
import { endsIn, givenIn, goldIn, lastNumbers } from '../measures/right-answers.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { quote, say } from '../sentence.js';

/** A reward for the answer from which little is left to learn. */
const KNOWN = 0.8;
/** Completions that show by what a reward is paid, and that hint at it. */
const [ENOUGH_HOLES, SOME_HOLES] = [5, 2];
/** Wrong numbers that are paid, and natural logarithm of the ways to choose as many of all wrong ones: no accident. */
const [ENOUGH_NEAR, NO_ACCIDENT] = [3, Math.log(2000)];
/** Groups of which all earn the most with different answers, and groups that show that the reward asks for one. */
const [ENOUGH_PAID, ENOUGH_TOLD] = [2, 3];

export const b26: Fault = {
  code: 'B26',
  name: 'reward hacking',
  title: 'The reward can be hacked',
  checks: [
    stepCheck({
      code: 'B26.canary',
      title: 'Known worthless answers earn nothing',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `through the production path, the answer earns more than its declared most ${SHARE}`,
      sources: ['Liuziyu77/Visual-RFT#79', 'Liuziyu77/Visual-RFT#176', 'huggingface/cookbook#335'],
      why: 'Every text contains the empty answer, so a reward that tests containment pays for it.',
      remedy: 'Close the hole: the policy will find it.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: SETTLES,
      proofs: ['native'],
      needs: ['probes'],
      test: ({ probes }) =>
        judgeGrader(
          probes,
          ({ kind, most, value }) => kind !== CANARY.other && most !== undefined && value !== null,
          ({ value, most }) => value! <= most!,
        ),
      says: (m) =>
        say`${m.wrong} of ${m.probes} known worthless answers earned at least as much as a right one: ${quote(m.kinds)}${ruleText(m.rule)}.`,
    }),
    runCheck({
      code: 'B26.contains',
      title: 'A reward asks for the answer, not for a text that contains it',
      stage: 'reward',
      level: 4,
      rank: 5,
      threshold: `reported when over all records a reward pays exactly the completions that contain the reference answer as a part of their text, of which ${ENOUGH_HOLES} or more do not end in it, and ${ENOUGH_HOLES} or more completions do not contain it; ${SOME_HOLES} or more only inform`,
      why: 'Seen in graders written as `answer in completion`: 17#27 and 170 contain 17. A policy finds that more numbers pay.',
      remedy:
        'Grade what the completion gives as its answer: the last number, or what stands between tags or in a box.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'Grade a text of many numbers, the right one among them.',
      proofs: ['PyTorch loop'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see({ answers, texts, promptOf, rewardNames, rewardValues }) {
        const known = [...texts.keys()].filter((b) => goldIn(answers[promptOf[b]!] ?? '') !== '');
        if (known.length === 0) return 'reference answers';
        const seen = known.map((b) => {
          const [text, answer] = [texts[b]!, goldIn(answers[promptOf[b]!]!)];
          return { b, text, answer, holds: text.includes(answer) };
        });
        const holes = seen.filter(({ text, answer, holds }) => holds && !endsIn(text, answer));
        const without = seen.filter(({ holds }) => !holds).length;
        return rewardNames.map((reward, k) => {
          const values = rewardValues.subarray(k * texts.length, (k + 1) * texts.length);
          const most = Math.max(...values);
          return {
            reward,
            varies: most > Math.min(...values),
            fits: seen.every(({ b, holds }) => holds === (values[b] === most)),
            holes: holes.length,
            without,
            example: holes[0],
          };
        });
      },
      test(seen) {
        const found = byReward(seen).flatMap(({ reward, own: all }) => {
          const own = all.filter(({ varies }) => varies);
          const [holes, without] = [sum(own.map((one) => one.holes)), sum(own.map((one) => one.without))];
          const isFound = own.every(({ fits }) => fits) && holes >= SOME_HOLES && without >= ENOUGH_HOLES;
          return isFound ? [{ reward, holes, own }] : [];
        });
        const measured = {
          records: seen.length,
          reward: found[0]?.reward ?? '',
          holes: found[0]?.holes ?? 0,
        };
        const evidence = found.flatMap(({ own }) =>
          own.flatMap(({ step, example }) =>
            example ? [{ step, text: `${example.text} (the answer is ${example.answer})` }] : [],
          ),
        );
        if (found.length === 0) return pass(measured);
        return (measured.holes >= ENOUGH_HOLES ? warn : inform)(measured, evidence);
      },
      says: (m) =>
        say`The reward ${m.reward} pays every completion whose text contains the reference answer, ${m.holes} of which do not end in it. If it looks for the answer anywhere, more numbers in a text pay more often.`,
    }),
    runCheck({
      code: 'B26.near',
      title: 'A reward for a number pays that number only',
      stage: 'reward',
      level: 4,
      rank: 5,
      threshold: `over all records, where the reference answers are numbers and a reward pays all completions that end in them: it pays no ${ENOUGH_NEAR} others as much, at most half of the wrong ones, whose last numbers all lie nearer to the answer than those of the other wrong ones, as chance would have it in less than one of 2,000 ways`,
      why: 'Seen in a grader that took answers within 1 %: 136 for 137. A policy need not compute to the last digit then.',
      remedy: 'Compare whole numbers exactly, and give a tolerance to what was measured or rounded only.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'Grade the right number with its last digit changed.',
      proofs: ['native'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see({ answers, texts, promptOf, rewardNames, rewardValues }) {
        const given = texts.flatMap((text, b) => {
          const gold = goldIn(answers[promptOf[b]!] ?? '');
          const [number, right] = lastNumbers(text, gold) ?? [];
          if (number === undefined || right === undefined) return [];
          const off = Math.abs(number - right);
          return [{ b, off, relative: off / Math.max(Math.abs(right), 1e-9), text: `${number} for ${gold}` }];
        });
        if (given.length === 0) return 'reference answers that are numbers';
        const [right, wrong] = [given.filter(({ off }) => off === 0), given.filter(({ off }) => off > 0)];
        return rewardNames.map((reward, k) => {
          const values = rewardValues.subarray(k * texts.length, (k + 1) * texts.length);
          const most = largest(values);
          return {
            reward,
            isVaried: most > smallest(values),
            // Only what is paid is shown.
            isRightPaid: right.every(({ b }) => values[b] === most),
            wrong: wrong.map(({ b, text, ...far }) =>
              values[b] === most ? { ...far, paid: text } : { ...far, paid: undefined },
            ),
          };
        });
      },
      test(seen): Outcome<{ reward: string; paid: number; answers: string }> {
        const found = byReward(seen).flatMap(({ reward, own }) => {
          const varied = own.filter(({ isVaried }) => isVaried);
          const wrong = varied.flatMap((one) => one.wrong.map((each) => ({ ...each, step: one.step })));
          const paid = wrong.flatMap(({ paid: text, ...one }) =>
            text === undefined ? [] : [{ ...one, text }],
          );
          const unpaid = wrong.filter((one) => one.paid === undefined);
          const isNearer = (['off', 'relative'] as const).some(
            (by) => largest(paid.map((one) => one[by])) < smallest(unpaid.map((one) => one[by])),
          );
          const isFound =
            varied.every(({ isRightPaid }) => isRightPaid) &&
            paid.length >= ENOUGH_NEAR &&
            // A tolerance pays few of the wrong ones; a form is paid wherever it is kept.
            paid.length <= unpaid.length &&
            logChoose(wrong.length, paid.length) > NO_ACCIDENT &&
            isNearer;
          return isFound ? [{ reward, paid }] : [];
        });
        const [first] = found;
        if (!first) return pass({ reward: '', paid: 0, answers: '' });
        const answers = first.paid.slice(0, 3).map(({ text }) => text);
        return warn(
          { reward: first.reward, paid: first.paid.length, answers: answers.join(', ') },
          first.paid.map(({ step, text }): Evidence => ({ step, text })),
        );
      },
      says: (m) =>
        say`The reward ${m.reward} pays ${m.paid} wrong numbers like right ones, those that lie nearest: ${m.answers}. It takes what lies near the answer for the answer.`,
    }),
    runCheck({
      code: 'B26.agree',
      title: 'Completions of a prompt that are paid for their answer give the same one',
      stage: 'reward',
      level: 4,
      rank: 5,
      threshold: `over all records, for a reward that in ${ENOUGH_TOLD} groups or more pays several completions, all with the same last number, and others not: fewer than ${ENOUGH_PAID} groups of which all are paid though they end in different numbers`,
      sources: ['huggingface/open-r1#239'],
      why: 'A grader that cannot read the reference answer of a row may pay everyone, as one that returns 1 where its parser fails.',
      remedy:
        'Grade a wrong answer against the reference of these rows: what the grader cannot read has to be skipped, not paid.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30'],
      settles: 'The parsed reference answer of such a row, printed.',
      proofs: ['TRL run'],
      needs: ['texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see({ texts, promptOf, rewardNames, rewardValues }, { prompts }) {
        const groups = groupsOf(promptOf).filter((group) => group.length > 1);
        return rewardNames.map((reward, k) => {
          const values = rewardValues.subarray(k * texts.length, (k + 1) * texts.length);
          const most = Math.max(...values);
          const seenGroups = groups.map((group) => {
            const paid = group.filter((b) => values[b] === most);
            const given = new Set(paid.map((b) => givenIn(texts[b]!)));
            const answer = prompts?.answers?.[promptOf[group[0]!]!] ?? '';
            const isAll = paid.length === group.length;
            return { isAll, paid: paid.length, given: [...given], answer };
          });
          return { reward, groups: seenGroups, isVaried: most > Math.min(...values) };
        });
      },
      test(seen): Outcome<{ reward: string; groups: number; given: string; answer: string }> {
        const found = byReward(seen).flatMap(({ reward, own }) => {
          const all = own
            .filter(({ isVaried }) => isVaried)
            .flatMap(({ step, groups }) => groups.map((group) => ({ step, ...group })));
          // One that is paid alone agrees with itself.
          const told = all.filter(({ isAll, paid }) => !isAll && paid > 1);
          const free = all.filter(
            ({ isAll, given }) => isAll && given.length > 1 && !given.includes(undefined),
          );
          const isOne = told.every(({ given }) => given.length === 1);
          const isFound = told.length >= ENOUGH_TOLD && isOne && free.length >= ENOUGH_PAID;
          return isFound ? [{ reward, free }] : [];
        });
        const [first] = found;
        const [free] = first?.free ?? [];
        const measured = {
          reward: first?.reward ?? '',
          groups: first?.free.length ?? 0,
          given: free?.given.slice(0, 4).join(', ') ?? '',
          answer: goldIn(free?.answer ?? ''),
        };
        if (!first) return pass(measured);
        return warn(
          measured,
          first.free.map(
            ({ step, given, answer }): Evidence => ({
              step,
              text: `${given.join(', ')} (the answer is ${goldIn(answer)})`,
            }),
          ),
        );
      },
      says: (m) =>
        say`In ${m.groups} groups the reward ${m.reward} pays every completion, though they give different answers (${m.given}${m.answer && ` for ${JSON.stringify(m.answer)}`}), while elsewhere it pays one answer only: it cannot read what those rows ask for.`,
    }),
    logCheck({
      code: 'B26.log',
      title: 'The reward does not rise while the task gets worse',
      stage: 'reward',
      level: 8,
      rank: 3,
      threshold:
        'over 50 entries or more, the total reward does not rise (t > 2) while a reward for the answer falls (t < −2)',
      sources: ['huggingface/open-r1#255', 'huggingface/open-r1#257'],
      why: 'Accuracy fell from 0.16 to 0.06 while format rose from 0.48 to 0.86.',
      remedy:
        'Reward the format only where the answer is right, or make the format reward a fraction of the answer’s reward.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'Read the completions with the highest reward.',
      needs: ['reward'],
      test(log) {
        const answers = rewardNames(log).filter((name) => /acc|correct|answer|right|solution/i.test(name));
        if (answers.length === 0) return notApplicable('a reward named for the answer');
        const total = slope(log.column('reward'), log.steps);
        if (total.count < 50) return notApplicable('50 entries');
        const falling = answers.flatMap((name): Evidence[] => {
          const { t } = slope(log.column(`rewards/${name}/mean`), log.steps);
          return t < -2 ? [{ text: name, values: { t } }] : [];
        });
        const measured = { entries: total.count, rewardT: total.t, falling: falling.length };
        return total.t > 2 && falling.length > 0 ? warn(measured, falling) : pass(measured);
      },
      says: () =>
        'The total reward rises while the reward for the answer falls: the policy earns it with something else.',
    }),
    logCheck({
      code: 'B26.other',
      title: 'What the reward gains is gained by answers, too',
      stage: 'reward',
      level: 8,
      rank: 4,
      threshold: `over ${ENOUGH_STEPS} steps or more, the total reward rises beyond its noise for good, another reward rises, and none named for the answer does, which are below ${KNOWN} at the end`,
      sources: ['huggingface/open-r1#255'],
      why: 'A format is learnt in tens of steps; after a hundred the answers should follow.',
      remedy:
        'Look whether groups have any right answer: if few have, the task is too hard for the model, so train on examples first or take easier problems. Reward the rest only where the answer is right.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The evaluation: right answers on held-out problems, before and after.',
      needs: ['reward'],
      test(log): Outcome<{ steps: number; gained: number; by: string; answers: string; answer: number }> {
        const { course } = log;
        const { answers, others } = course.functions;
        if (answers.length === 0 || others.length === 0)
          return notApplicable('a reward named for the answer, and another');
        if (!course.isLong) return notApplicable(`${ENOUGH_STEPS} steps`);
        const gain = course.lastingGain;
        const paid = others.filter((name) => course.gainOf(name));
        const ends = answers.map((name) => course.metric(name)?.end ?? 0);
        const measured = {
          steps: course.steps,
          gained: gain ? gain.to - gain.from : 0,
          by: paid.map(functionOf).join(', '),
          answers: answers.map(functionOf).join(', '),
          answer: Math.max(...ends),
        };
        if (!gain || paid.length === 0 || course.learnt || measured.answer >= KNOWN) return pass(measured);
        return warn(measured, [{ ...entryAt(log, paid[0]!, gain.step), text: functionOf(paid[0]!) }]);
      },
      says: (m) =>
        say`The reward gained ${m.gained} in ${m.steps} steps by ${quote(m.by)} alone; ${quote(m.answers)} stands at ${m.answer}, within its noise: the form is learnt, the task is not.`,
    }),
  ],
};
