import { isFlat, smallest } from '../../maths/moments.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { gradesOf } from '../measures/grades.js';
import { endsIn, goldIn } from '../measures/right-answers.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Fewer may be answers that lack something else, which a strict grader rightly rejects. */
const SEVERAL = 3;
const GOLD_MISSED = 0.1;
const MIXED =
  'rewarded completions that end in the reference answer more often than the others: without them the pairing may be at fault (B21)';

export const b27: Fault = {
  code: 'B27',
  name: 'strict grader',
  title: 'The grader misses right answers',
  checks: [
    stepCheck({
      code: 'B27.gold',
      title: 'Completions that end in the right answer are not graded as wrong',
      stage: 'reward',
      kind: 'heuristic',
      level: 4,
      rank: 3,
      threshold: `fewer than ${SEVERAL}, or fewer than ${100 * GOLD_MISSED} %, of the unrewarded completions end in the reference answer; not applicable where the rewarded ones do so no more often`,
      sources: [],
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
        const missed = unrewarded.filter(isRight).map(
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
  ],
};
