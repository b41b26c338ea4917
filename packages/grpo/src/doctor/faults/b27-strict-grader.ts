import { isFlat, largest, smallest, sum } from '../../maths/moments.js';
import { runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { byReward, FORM, gradedAnswers, gradesOf } from '../measures/grades.js';
import { contains, endsIn, goldIn, lastNumbers } from '../measures/right-answers.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** Fewer may be answers that lack something else, which a strict grader rightly rejects. */
const SEVERAL = 3;
const GOLD_MISSED = 0.1;
/** Paid answers that are wrong, and their share of all paid ones; the shares of right and of wrong ones that such a grader pays. */
const [PAID_WRONG, PAID_SHARE, PAYS_RIGHT, PAYS_WRONG] = [8, 0.2, 0.9, 0.6];
/** Right answers that show that a reward pays none. */
const ENOUGH_RIGHT = 5;
/** Matches names of rewards that take something away. */
const PENALTY_NAME = /penal|cost|overlong|too_?long|repeti|punish/i;
type Lenience = { reward: string; paid: number; wrong: number };

const MIXED =
  'rewarded completions that end in the reference answer more often than the others: without them the pairing may be at fault (B21)';

export const b27: Fault = {
  code: 'B27',
  name: 'strict grader',
  title: 'The grader misses right answers',
  checks: [
    runCheck({
      code: 'B27.lenient',
      title: 'Answers that are other numbers than the reference are not paid as right ones',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `over all records, of a reward that pays ${percent(PAYS_RIGHT)} of the answers that end in the reference number or more, and at most ${percent(PAYS_WRONG)} of those that have it nowhere, fewer than ${PAID_WRONG} of the latter are paid as much, or they are fewer than ${percent(PAID_SHARE)} of the paid ones`,
      why: 'Seen in a grader that took a difference of 1 for rounding: 11 was paid for 12.',
      remedy: 'Read these completions beside their reference answers: what is the grader to let pass?',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B26', 'B58', 'B61'],
      settles: 'The reference answer plus 1, graded by hand.',
      proofs: ['TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see: (given) =>
        gradedAnswers(given, (text, gold) => {
          const [own, right] = lastNumbers(text, gold) ?? [];
          if (own === undefined) return undefined;
          return own === right || (contains(text, gold) ? undefined : false);
        }),
      test(seen): Outcome<Lenience> {
        const found = byReward(seen).flatMap(({ reward, own }) => {
          const valuesOf = (right: 0 | 1) =>
            own.flatMap(({ isRight, values }) => [...values].filter((_, i) => isRight[i] === right));
          const [right, wrong] = [valuesOf(1), valuesOf(0)];
          const most = largest(right);
          const [rightPaid, wrongPaid] = [right, wrong].map(
            (values) => values.filter((value) => value >= most).length,
          ) as [number, number];
          if (right.length < ENOUGH_RIGHT || rightPaid < PAYS_RIGHT * right.length) return [];
          if (wrong.length === 0 || wrongPaid > PAYS_WRONG * wrong.length) return [];
          const evidence = own.flatMap(({ step, example }): Evidence[] => {
            if (!example || example.value < most) return [];
            const { completion, text, gold } = example;
            return [{ step, completion, text, values: { gold } }];
          });
          return [{ measured: { reward, paid: rightPaid + wrongPaid, wrong: wrongPaid }, evidence }];
        });
        if (found.length === 0) return notApplicable('a reward that tells right numbers from wrong ones');
        const { measured, evidence } = found.sort((a, b) => b.measured.wrong - a.measured.wrong)[0]!;
        const isMuch = measured.wrong >= PAID_WRONG && measured.wrong >= PAID_SHARE * measured.paid;
        return isMuch ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        say`Of ${m.paid} completions that the reward ${m.reward} pays in full, ${m.wrong} end in another number than the reference answer and have it nowhere: the grader lets wrong answers pass.`,
    }),
    stepCheck({
      code: 'B27.gold',
      title: 'Completions that end in the right answer are not graded as wrong',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `fewer than ${SEVERAL}, or fewer than ${100 * GOLD_MISSED} %, of the unrewarded completions end in the reference answer, and have the tags that a rewarded one has which ends in it; not applicable where the rewarded ones do so no more often`,
      why: 'Seen in an exact-match grader, on texts that may go on after the answer.',
      remedy: 'Read these completions: is the grader too strict about spaces, units or format?',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30'],
      settles: 'Grade the gold answers, written as the model would write them: all must be right.',
      proofs: ['native'],
      needs: ['answers', 'texts', 'promptOf', 'totals'],
      test({ answers, texts, promptOf }, record) {
        const totals = gradesOf(record);
        const least = smallest(totals);
        const unrewarded = [...totals.keys()].filter((b) => totals[b] === least && answers[promptOf[b]!]);
        // A reward of the prompt alone grades nothing: that is B30's.
        if (groupsOf(promptOf).every((group) => isFlat(group.map((b) => totals[b]!))))
          return notApplicable('a group with different rewards');
        if (isFlat(totals) || unrewarded.length < 10)
          return notApplicable('ten unrewarded completions beside rewarded ones');
        const goldOf = (completion: number) => goldIn(answers[promptOf[completion]!]!);
        const isRight = (completion: number) => endsIn(texts[completion]!, goldOf(completion));
        // A grader may want tags around the answer: what lacks one is wrong on purpose.
        const forms = [...totals.keys()]
          .filter((b) => totals[b]! > least && isRight(b))
          .map((b) => tagsIn(texts[b]!));
        const isWellFormed = (completion: number) => {
          const own = tagsIn(texts[completion]!);
          return forms.length === 0 || forms.some((form) => form.every((tag) => own.includes(tag)));
        };
        const missed = unrewarded
          .filter((b) => isRight(b) && isWellFormed(b))
          .map(
            (completion): Evidence => ({
              completion,
              text: `…${texts[completion]!.slice(-40)}`,
              values: { gold: goldOf(completion) },
            }),
          );
        const missing = new Set(missed.map(({ completion }) => promptOf[completion!]!));
        const beside = [...totals.keys()].filter((b) => missing.has(promptOf[b]!));
        const rewarded = beside.filter((b) => totals[b]! > least);
        const right = rewarded.filter(isRight).length;
        if (
          right < rewarded.length &&
          right * (beside.length - rewarded.length) <= missed.length * rewarded.length
        )
          return notApplicable(MIXED);
        const measured = { unrewarded: unrewarded.length, missed: missed.length };
        return missed.length >= Math.max(SEVERAL, GOLD_MISSED * unrewarded.length)
          ? warn(measured, missed)
          : pass(measured);
      },
      says: (m) => say`${m.missed} of ${m.unrewarded} unrewarded completions end in the reference answer.`,
    }),
    stepCheck({
      code: 'B27.rows',
      title: 'The answer of each row is paid, written as a paid completion is',
      stage: 'reward',
      level: 4,
      rank: 2,
      threshold:
        'of the reference answers that are graded in the form of a paid completion, each with its row, all earn half of what that earned or more; where most earn less, it only informs: the reward may ask for something else',
      why: 'Seen in a reward that read digits alone and lost the minus: rows with a negative answer paid nobody, whatever was written.',
      remedy: 'Call the reward by hand with this answer and its row, and print what it compares with what.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30', 'B20'],
      settles: 'The reference answers of all rows, graded.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { golds } }) {
        const own = golds?.filter(({ heldOut }) => !heldOut);
        const one = own?.find(({ unpaid }) => unpaid > 0) ?? own?.[0];
        if (!one) return notApplicable('probes.golds');
        const { reward, graded, unpaid, answer = '' } = one;
        const measured = { reward, graded, unpaid, answer };
        if (unpaid === 0) return pass(measured);
        return (unpaid <= graded / 2 ? warn : inform)(measured);
      },
      says: (m) =>
        say`The reward ${m.reward} does not pay the right answer of ${m.unpaid} of ${m.graded} rows, such as ${quote(m.answer)}, written as a completion that it pays: it cannot read some answers, or the data has them in another form.`,
    }),
    stepCheck({
      code: 'B27.contradicted',
      title: 'Equal prompts have one reference answer',
      stage: 'data',
      level: 1,
      rank: 8,
      threshold: 'no prompt stands in the data with two numbers that differ',
      why: 'Seen in two sources that were merged, of which one had its answers of a − b as b − a: a tenth of the rows paid the wrong answer.',
      remedy: 'Look at both rows, and at what made them: one of the two pays a wrong answer.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B28', 'B30'],
      settles: 'Both rows, solved by hand.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { contradictions } }) {
        if (!contradictions) return notApplicable('probes.contradictions');
        const { prompts, contradicted, prompt = '', answers = [] } = contradictions;
        const measured = { prompts, contradicted, answers: answers.join(' and ') };
        return contradicted > 0 ? warn(measured, [{ text: prompt }]) : pass(measured);
      },
      says: (m) =>
        say`${m.contradicted} of ${m.prompts} prompts of the data have two reference answers, such as ${m.answers}: one of them is wrong, and is paid.`,
    }),
    runCheck({
      code: 'B27.never',
      title: 'A reward that pays nobody has seen no right answer',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `over all records, no reward gives every completion the same value of 0 or less while ${ENOUGH_RIGHT} or more completions are the reference answer, word for word, unless it is 0 of a reward that is named for a penalty; where they only end in it and some reward pays something, or the reward is named for the form, it only informs`,
      why: 'Seen in a reward that cut off as many characters as the prompt has, and in one that compared with a column that the data did not have.',
      remedy:
        'Call the reward by hand with one of these completions and its row, and print what it compares with what.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B20', 'B28', 'B30'],
      settles: 'The value that the function gives the reference answer itself.',
      proofs: ['native', 'TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see({ answers, texts, promptOf, rewardNames, rewardValues }) {
        const golds = texts.map((_, b) => goldIn(answers[promptOf[b]!] ?? ''));
        if (golds.every((gold) => gold === '')) return 'reference answers';
        const same = golds.flatMap((gold, b) => (gold !== '' && texts[b]!.trim() === gold ? [b] : []));
        const ending = golds.flatMap((gold, b) => (gold !== '' && endsIn(texts[b]!, gold) ? [b] : []));
        return rewardNames.map((reward, k) => {
          const values = rewardValues.subarray(k * texts.length, (k + 1) * texts.length);
          // A reward may have no opinion of problems of another kind.
          const [whole, ended] = [same, ending].map((some) => some.filter((b) => !Number.isNaN(values[b]!)));
          const range = [smallest(values), largest(values)];
          const text = texts[whole![0] ?? -1] ?? '';
          return { reward, range, same: whole!.length, ending: ended!.length, text };
        });
      },
      test(seen): Outcome<{ reward: string; right: number; isWhole: boolean; paysAny: boolean }> {
        const all = byReward(seen);
        // Nobody earns anything at all.
        const paysAny = all.some(({ own }) =>
          own.some(({ range }) => range[1]! > range[0]! || range[1]! > 0),
        );
        const found = all.flatMap(({ reward, own }) => {
          const ranges = own.flatMap(({ range }) => range).filter(Number.isFinite);
          // A penalty of 0 is right where nothing is to be punished.
          const mayBeNothing = PENALTY_NAME.test(reward) && ranges[0] === 0;
          const isDead = ranges.length > 0 && isFlat(ranges) && ranges[0]! <= 0 && !mayBeNothing;
          const [same, ending] = [sum(own.map((one) => one.same)), sum(own.map((one) => one.ending))];
          const isWhole = same >= ENOUGH_RIGHT && !FORM.test(reward);
          if (!isDead || ending < ENOUGH_RIGHT) return [];
          const evidence = own.flatMap(({ step, text }): Evidence[] => (text ? [{ step, text }] : []));
          const right = isWhole ? same : ending;
          return [{ measured: { reward, right, isWhole, paysAny }, evidence, isForm: FORM.test(reward) }];
        });
        const [first] = found.sort((a, b) => Number(b.measured.isWhole) - Number(a.measured.isWhole));
        if (!first) return pass({ reward: '', right: 0, isWhole: false, paysAny });
        const { measured, evidence, isForm } = first;
        return (measured.isWhole || !(paysAny || isForm) ? warn : inform)(measured, evidence);
      },
      says: (m) =>
        m.isWhole
          ? say`The reward ${m.reward} gives every completion the same, also ${m.right} that are the reference answer itself: it does not see the answer, or compares it with something else.`
          : m.paysAny
            ? say`The reward ${m.reward} gives every completion the same, also ${m.right} that end in the reference answer: right only if it asks for something else.`
            : say`No completion earns anything, though ${m.right} end in the reference answer: the reward ${m.reward} looks for it elsewhere, such as in a tag or a box that the prompt does not ask for, or does not see it.`,
    }),
  ],
};

/** The tags of a text, such as `<answer>` and `\\boxed{`. */
const tagsIn = (text: string): string[] => text.match(/<\/?[A-Za-z_]\w*>|\\boxed\{/g) ?? [];
