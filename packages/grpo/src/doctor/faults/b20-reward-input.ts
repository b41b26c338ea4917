import { isFlat, moments, sum, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { CANARY, type StepRecord, type TextChange, TOTAL } from '../../trace/index.js';
import { logCheck, runCheck, stepCheck } from '../check.js';
import { FLAT_ENTRIES, MIN_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { at } from '../log-view.js';
import { SETTLES } from '../measures/canaries.js';
import { byReward, gradesOf, isNatural } from '../measures/grades.js';
import { endsIn, goldIn } from '../measures/right-answers.js';
import { changedTexts } from '../measures/text-changes.js';
import { fail, inform, notApplicable, type Outcome, pass, shorten, warn } from '../outcome.js';
import { formatValue, percent, say } from '../sentence.js';

/** Share of the completions that have a special token inside from which it is part of what they say. */
const TAGGED = 0.5;

/** Groups of right and wrong answers that show that a reward is one value for a prompt. */
const ENOUGH_GROUPS = 4;

/** Entries from which on groups are hardly flat by chance. */
const MANY_ENTRIES = 16;

/** Fewest distinct completions for which equal rewards are evidence. */
const FEW = 4;

export const b20: Fault = {
  code: 'B20',
  name: 'reward input',
  title: 'A reward function gets a different type than it expects',
  checks: [
    stepCheck({
      code: 'B20.text',
      title: 'Rewards get the texts that were sampled',
      stage: 'reward',
      level: 2,
      rank: 2,
      threshold:
        'each graded text is the sampled one, up to white space and special tokens, and to what declared.textChanges names; only warns where that is not declared',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'The reward of one text is credited to the tokens of another.',
      remedy:
        'Hand the reward functions the decoded ids. If the change is meant, declare it: `cut` or `rewritten` in `textChanges`.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B21', 'B22', 'B26', 'B27', 'B28', 'B30'],
      proofs: ['native'],
      needs: ['texts', 'sampledTexts'],
      test(
        { texts },
        record,
      ): Outcome<{ completions: number; change: TextChange; changed: number; text: string }> {
        const { textChanges } = record.declared ?? {};
        const all = changedTexts(record)!.filter(
          // The prompt's end and stop strings have checks of their own.
          ({ change }) => (change === 'cut' || change === 'rewritten') && !textChanges?.includes(change),
        );
        const [first] = all;
        if (!first) return pass({ completions: texts.length });
        const own = all.filter(({ change }) => change === first.change);
        const { change, text } = first;
        return (textChanges ? fail : warn)(
          { completions: texts.length, change, changed: own.length, text: shorten(text) },
          own.map(({ completion, text }) => ({ completion, text: shorten(text) })),
        );
      },
      says: ({ changed, completions, change, text }) =>
        change === 'rewritten'
          ? say`In ${changed} of ${completions} completions the rewards get another text than was sampled: ${JSON.stringify(text)}.`
          : say`In ${changed} of ${completions} completions the rewards do not get ${JSON.stringify(text)}, with which the sampled text ends.`,
    }),
    stepCheck({
      code: 'B20.constant',
      title: 'Different completions do not all earn the same reward',
      stage: 'reward',
      level: 4,
      rank: 1,
      threshold:
        'the totals of a step with 4 or more distinct texts are not all equal; only informs where every reward is −1, 0 or 1, as when all completions fail or all succeed, and where the last step that could be judged has several',
      sources: ['huggingface/trl#4202', 'parity/trl_faults.py'],
      why: 'A reward written for texts gets lists of messages and falls back to one value.',
      remedy: 'Call the reward by hand with a good and a bad completion, in the type that training passes.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B28', 'B30', 'B53', 'B26'],
      settles:
        'Grade a known-good and a known-bad completion: equal values mean a broken reward, different values a task that is too hard, or at the highest reward too easy.',
      proofs: ['native', 'TRL run'],
      byChance: true,
      needs: ['texts', 'totals', 'rewards'],
      test({ texts, rewards: { inputType, values } }, record) {
        const totals = gradesOf(record);
        const distinct = new Set(texts.filter((_, b) => !Number.isNaN(totals[b]!))).size;
        const [value] = withoutNaN(totals);
        if (value === undefined || distinct < FEW)
          return notApplicable(`${FEW} distinct completions with a reward`);
        const graded = withoutNaN(values ?? totals);
        const natural = graded.every(isNatural);
        const measured = {
          completions: texts.length,
          distinct,
          ...(inputType && { inputType }),
          value,
          natural,
          task: difficulty(graded),
        };
        if (!isFlat(totals)) return pass(measured);
        return natural ? inform(measured) : warn(measured);
      },
      says: (m) =>
        say`All ${m.completions} completions (${m.distinct} distinct) earned exactly ${m.value}. ${constantReward(m)}`,
    }),
    stepCheck({
      code: 'B20.canary',
      title: 'Right and worthless answers do not all earn the same',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold:
        'through the production path, three or more kinds of completions, a right answer among them, do not all earn one total; only informs where the task cannot tell that the answer is right',
      sources: ['huggingface/trl#4202'],
      why: 'A good and a bad completion, in the type of the run, must earn different rewards.',
      remedy: 'Call the reward by hand with a good and a bad completion, in the type that training passes.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B22', 'B23', 'B26', 'B27', 'B28', 'B30', 'B53'],
      settles: SETTLES,
      proofs: ['native'],
      needs: ['probes'],
      test({ probes: { canaries = [] } }) {
        const known = canaries.filter(({ reward, value }) => reward === TOTAL && value !== null);
        const gold = known.filter(({ kind }) => kind === CANARY.gold);
        const kinds = new Set(known.map(({ kind }) => kind)).size;
        if (gold.length === 0 || kinds < 3)
          return notApplicable('probes.canaries with totals of a gold answer and of others');
        const measured = { probes: known.length, kinds, value: known[0]!.value! };
        if (!isFlat(known.map(({ value }) => value!))) return pass(measured);
        return gold.some(({ least }) => least !== undefined) ? warn(measured) : inform(measured);
      },
      says: (m) => say`All ${m.probes} canaries earned exactly ${m.value}: right answers and blanks alike.`,
    }),
    stepCheck({
      code: 'B20.columns',
      title: 'The data has a column for each parameter of a reward',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold:
        'no parameter of a reward that is empty by default is without a column of its name; it only informs where the reward differs between completions',
      why: 'Seen in a run whose reward took `answer`, where the column was `solution`: every completion was compared with nothing.',
      remedy: 'Rename the column or the parameter: TRL passes each column to the parameter of its name.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B20', 'B27', 'B28', 'B30'],
      settles: 'What the function gets, printed in its first call.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { unfilled } }, record): Outcome<{ reward: string; parameter: string }> {
        if (!unfilled) return notApplicable('probes.unfilled');
        // A reward that still tells completions apart may do without it.
        const blind = unfilled.find(({ reward }) => {
          const values = valuesOf(record, reward);
          return values.length > 0 && isFlat(values);
        });
        const first = blind ?? unfilled[0];
        if (!first) return pass({ reward: '', parameter: '' });
        return blind ? warn(blind) : inform(first);
      },
      says: (m) =>
        say`The reward ${m.reward} takes ${m.parameter}, which the data has no column for: it gets nothing there, in every call.`,
    }),
    stepCheck({
      code: 'B20.lines',
      title: 'A reward that finds nothing reads beyond line breaks',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold:
        'of completions with line breaks, graded again by a reward that gave every completion 0, none earns more with spaces in their place',
      sources: ['huggingface/open-r1#239'],
      why: 'A pattern such as <think>.*</think> does not match a text of several lines: the dot stands for no line break.',
      remedy: 'Give the pattern re.DOTALL, or write [\\s\\S] for the dot.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B28', 'B30'],
      settles: 'The reward of one completion, with its line breaks and without.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { lineBreaks } }) {
        if (!lineBreaks) return notApplicable('probes.lineBreaks');
        const found = lineBreaks.find(({ earned }) => earned > 0);
        return found ? warn(found) : pass({ reward: '', graded: lineBreaks[0]?.graded ?? 0, earned: 0 });
      },
      says: (m) =>
        say`The reward ${m.reward} gives every completion 0, and ${m.earned} of ${m.graded} earn more once their line breaks are spaces: its pattern ends at the first line.`,
    }),
    stepCheck({
      code: 'B20.special',
      title: 'Special tokens inside completions are in the texts that rewards get',
      stage: 'reward',
      level: 2,
      rank: 3,
      threshold: `no special token, of those that end no completion and do not pad, stands in ${percent(TAGGED)} of the completions and is missing in their graded texts; it only informs where every reward differs between completions`,
      why: 'Seen in a run whose tags <think> and <answer> were special tokens: decoding left them out, and no format was ever found.',
      remedy:
        'Add the tags as ordinary tokens, or have the rewards read the ids (`completion_ids` in TRL), decoded with `skip_special_tokens=False`.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B27', 'B28', 'B30'],
      settles: 'One completion decoded with and without special tokens.',
      proofs: ['TRL run'],
      needs: ['tokenizer', 'ids', 'texts'],
      test({ tokenizer: { specialTokens, endIds = [], padId, bosId }, ids, texts }, record) {
        if (!specialTokens) return notApplicable('tokenizer.specialTokens');
        const left = Object.entries(specialTokens)
          .filter(([id]) => ![...endIds, padId, bosId].includes(Number(id)))
          .map(([id, token]) => {
            const within = [...texts.keys()].filter((b) => ids[b]!.includes(Number(id)));
            return { token, lacking: within.filter((b) => !texts[b]!.includes(token)) };
          })
          .filter(({ lacking }) => lacking.length >= TAGGED * texts.length);
        const measured = {
          completions: texts.length,
          lacking: left[0]?.lacking.length ?? 0,
          tokens: left.map(({ token }) => token).join(', '),
        };
        const evidence = left.map(({ token, lacking }) => ({ completion: lacking[0]!, text: token }));
        if (left.length === 0) return pass(measured);
        // A reward that tells completions apart may read their ids.
        const isBlind = record.rewards?.names?.some((name) => isFlat(valuesOf(record, name)));
        return (isBlind ? warn : inform)(measured, evidence);
      },
      says: (m) =>
        say`${m.lacking} of ${m.completions} completions have special tokens inside that the texts of the rewards lack: ${m.tokens}. A reward that looks for them never finds them.`,
    }),
    runCheck({
      code: 'B20.prompt',
      title: 'A reward is no value of the prompt alone',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `over all records, no reward that differs from prompt to prompt is one value within every group, of which ${ENOUGH_GROUPS} or more have completions that end in the reference answer and others that do not`,
      why: 'Seen in a reward that kept its scores in a table by prompt: the first completion decided for all.',
      remedy:
        'Keep scores by prompt and completion, or not at all; look at which arguments the function reads.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30'],
      settles: 'Grade two different completions of one prompt in one call.',
      proofs: ['TRL run'],
      needs: ['answers', 'texts', 'promptOf', 'rewardNames', 'rewardValues'],
      see({ answers, texts, promptOf, rewardNames, rewardValues }) {
        const groups = groupsOf(promptOf).filter((group) => group.length > 1);
        const mixed = groups.filter((group) => {
          const gold = goldIn(answers[promptOf[group[0]!]!] ?? '');
          const right = group.filter((b) => gold !== '' && endsIn(texts[b]!, gold)).length;
          return right > 0 && right < group.length;
        }).length;
        if (mixed === 0) return 'groups of right and wrong answers';
        return rewardNames.map((reward, k) => {
          const values = groups.map((group) => group.map((b) => rewardValues[k * texts.length + b]!));
          return { reward, mixed, areFlat: values.every(isFlat), levels: values.map(([value]) => value!) };
        });
      },
      test(seen): Outcome<{ reward: string; groups: number; mixed: number }> {
        const found = byReward(seen).flatMap(({ reward, own }) => {
          const levels = own.flatMap((one) => one.levels);
          const mixed = sum(own.map((one) => one.mixed));
          const isFound = own.every(({ areFlat }) => areFlat) && !isFlat(levels) && mixed >= ENOUGH_GROUPS;
          return isFound ? [{ reward, groups: levels.length, mixed }] : [];
        });
        return found[0] ? warn(found[0]) : pass({ reward: '', groups: 0, mixed: 0 });
      },
      says: (m) =>
        say`The reward ${m.reward} gives all completions of a prompt the same, in each of ${m.groups} groups, though ${m.mixed} of them have right answers beside wrong ones: it looks at the prompt, or at the first completion only.`,
    }),
    logCheck({
      code: 'B20.log',
      title: 'The reward tells completions of a prompt apart',
      stage: 'reward',
      level: 4,
      rank: 4,
      threshold: `over ${FLAT_ENTRIES} entries or more, more than a tenth of the groups differ in reward in the first eighth, or in the last; where the log has no share of flat groups, reward_std or the deviation of the advantages is not 0 throughout, or, where it has neither, the reward is not the same in all of ${MIN_ENTRIES} entries or more (it only informs where loss or gradient show that rewards differ all the same). Only informs where the reward is as high as it is if the flat groups are all right, or where some group differs in fewer than ${MANY_ENTRIES} entries`,
      sources: ['huggingface/trl#4202'],
      why: 'A reward written for texts gets lists of messages and falls back to one value; one that reads only the prompt gives a group one value.',
      remedy:
        'Call the reward by hand once with a good and a bad completion of one prompt together, in the type that training passes: a list of messages, or text.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B28', 'B30', 'B45', 'B53', 'B58', 'B52', 'B16'],
      settles: 'Grade two different completions of one prompt: equal values prove the fault.',
      proofs: ['log only'],
      needs: ['reward'],
      test(log) {
        const rewards = withoutNaN(log.column('reward'));
        const flat = log.course.of('flat');
        const deviations = withoutNaN(log.column('reward_std'));
        const isOther = !flat && deviations.length === 0 && log.course.equalRewards === 'signal';
        if (rewards.length < FLAT_ENTRIES || (!flat && !isOther && deviations.length < FLAT_ENTRIES))
          return notApplicable(`${FLAT_ENTRIES} entries with the deviation of the rewards`);
        const isConstant =
          deviations.length === rewards.length && deviations.every((deviation) => deviation === 0);
        const isBlind = flat ? Math.min(flat.start, flat.end, flat.mean) >= 0.9 : isConstant;
        const cut = withoutNaN(log.column('completions/clipped_ratio'));
        // The mean of lengths that differ would change.
        const lengths = withoutNaN(log.column('completions/mean_length'));
        const isOneLength = lengths.length >= FLAT_ENTRIES && isFlat(lengths) && Number.isInteger(lengths[0]);
        const measured = {
          entries: rewards.length,
          reward: rewards[0]!,
          isFixed: isFlat(rewards),
          isKnown: isConstant,
          isOther,
          spread: moments(rewards, 1).deviation,
          height: log.course.height,
          flat: flat?.mean ?? 1,
          ...(cut.length > 0 && { cut: median(cut) }),
          ...(isOneLength && { length: lengths[0]! }),
        };
        const first = log.column('reward').indexOf(rewards[0]!);
        const evidence = [at(log, first, 'reward', rewards[0]!)];
        if (isOther) return inform(measured, evidence);
        if (!isBlind) return pass(measured);
        // Groups that are all right are flat, too.
        const isLearnt = measured.isFixed ? rewards[0] === 1 : log.course.areRight(measured.flat);
        if (isLearnt) return inform(measured, evidence);
        // The groups that differ can earn this reward alone.
        const rest = 1 - measured.flat;
        const isRare = rest > 0 && !measured.isFixed && rewards.every((reward) => Math.abs(reward) <= rest);
        if (isRare) return pass(measured);
        // Few groups may be flat by chance; one that is not shows that the reward can tell completions apart.
        const isChance = measured.flat < 1 && rewards.length < MANY_ENTRIES;
        return isChance ? inform(measured, evidence) : warn(measured, evidence);
      },
      says: (m) =>
        m.isOther
          ? say`The reward is ${m.reward} in all ${m.entries} entries, though loss or gradient show that rewards differ: what is logged is not the reward, but for instance the mean of one that is normalised. Log the reward itself.`
          : m.isFixed
            ? say`The reward is ${m.reward} in all ${m.entries} entries${m.isKnown ? ', with deviation 0: every completion earns the same, so advantages and gradient are 0.' : ': the mean of rewards that differ would change, so every completion earns the same, and no step has a signal to learn from.'}${constantCause(m)}`
            : say`Within a group all rewards are equal in ${percent(m.flat)} of the groups, from the start to the end, while they differ by ${m.spread} from entry to entry: the reward does not look at single completions, or those of a prompt are all alike, such as ${alike(m.height)} or all truncated. ${m.flat < 1 ? 'Hardly a' : 'No'} step has a signal to learn from.`,
    }),
  ],
};

/** Values of a reward for the completions of a step, without those that it left ungraded. */
function valuesOf({ rewards }: StepRecord, name: string): number[] {
  const [k, count] = [rewards?.names?.indexOf(name) ?? -1, rewards?.totals?.length ?? 0];
  return k < 0 ? [] : withoutNaN(rewards?.values?.subarray(k * count, (k + 1) * count) ?? []);
}

/** The difficulty of a task whose completions all earn the same: at a reward of 1 all are right, at 0 or −1 all are wrong. */
function difficulty(rewards: readonly number[]): string {
  if (rewards.every((reward) => reward === 1)) return 'too easy';
  return rewards.every((reward) => reward <= 0) ? 'too hard' : 'too hard or too easy';
}

/** Whether completions of flat groups are all right or all wrong, by the height of the reward. */
const alike = (height: number) =>
  height < 1 / 3 ? 'all wrong' : height > 2 / 3 ? 'all right' : 'all right, all wrong';

/** Sentence about why all completions of a step may earn one value. */
function constantReward({
  natural,
  task,
  inputType,
}: {
  natural: boolean;
  task: string;
  inputType?: string;
}): string {
  if (natural)
    return `Either the reward is broken, or the task is ${task}; grading a good and a bad completion would show which.`;
  return inputType === 'messages'
    ? 'Completions come as lists of messages: a reward function that expects text may give all of them one value.'
    : 'A reward function that falls back to a constant has that effect.';
}

/** Names what gives every completion one reward: a fallback where the value is not −1, 0 or 1, else two possible causes. */
function constantCause({
  reward,
  cut = 0,
  length,
}: {
  reward: number;
  cut?: number;
  length?: number;
}): string {
  const natural = reward === 0 || reward === 1 || reward === -1;
  const isCut = cut >= 0.95;
  if (!natural) {
    const alike =
      length === undefined
        ? ''
        : ` All completions have ${length} tokens as well, as if each were truncated: a reward of their length is one value then, too.`;
    const also = isCut ? ' All completions are truncated as well.' : alike;
    return ` A reward function that falls back to ${formatValue(reward)} has that effect, for instance when it gets lists of messages in place of text.${also}`;
  }
  const same = length === undefined ? '' : `, as the ${length} tokens of each suggest`;
  return isCut || length !== undefined
    ? ` Either the reward is broken, or no answer is complete because all completions are truncated${isCut ? '' : same}; grading a complete right answer would show which.`
    : ` Either the reward is broken, or the task is ${difficulty([reward])}; grading a good and a bad completion would show which.`;
}
