import { isObject } from '../../formats/json.js';
import { largest, smallest, withoutNaN } from '../../maths/moments.js';
import { runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { keysOf } from '../inputs.js';
import { isMessage } from '../measures/conversation.js';
import { endsIn, goldIn } from '../measures/right-answers.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** Steps that one batch may serve on purpose, as the updates from one rollout do. */
const FEW = 3;
/** Different prompts that no two batches of one epoch share by chance, and share of an epoch that surely is one. */
const [SEVERAL, ONE_EPOCH] = [3, 0.9];

/** Share of held-out prompts in the training data that is more than an accident. */
const LEAKED = 0.1;
/** Different answers in which prompts do not end by chance. */
const VARIED = 3;
/** Fewer different prompts tell of nothing but themselves. */
const FEW_PROMPTS = 8;

/** Letters and digits of a text, counted. */
const lettersOf = (text: string): number => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;

/** Roles of messages that chat templates know. */
const ROLES: readonly string[] = [
  'system',
  'developer',
  'user',
  'assistant',
  'tool',
  'function',
  'ipython',
  'model',
];

export const b56: Fault = {
  code: 'B56',
  name: 'data leaks',
  title: 'Data leaks, repeats, or is not what was configured',
  left: 'pre-flight',
  checks: [
    stepCheck({
      code: 'B56.answers',
      title: 'Equal prompts have equal answers',
      stage: 'data',
      level: 1,
      rank: 7,
      threshold:
        'reported when two prompts or more of a step have the same ids and different reference answers, and none that is there twice has one answer',
      why: 'Seen in rows whose prompt was bound in a loop, so that all had that of the last one.',
      remedy:
        'Look at how rows are made: each needs the prompt of its own answer, and all that the answer depends on.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B56', 'B30'],
      settles: 'The prompts and the answers of ten rows of the data, printed.',
      proofs: ['TRL run'],
      needs: ['promptIds', 'answers'],
      test({ promptIds, answers }) {
        const byIds = new Map<string, (string | null)[]>();
        for (const [p, key] of keysOf(promptIds).entries())
          byIds.set(key, [...(byIds.get(key) ?? []), answers[p] ?? null]);
        const repeated = [...byIds.values()].filter((own) => own.length > 1);
        const torn = repeated.filter((own) => new Set(own).size > 1);
        const measured = { prompts: promptIds.length, different: byIds.size };
        return torn.length > 0 && torn.length === repeated.length
          ? warn(
              measured,
              torn.map((own) => ({ text: own.join(', ') })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`Of the ${m.prompts} prompts of a step ${m.different} ${m.different === 1 ? 'is' : 'are'} different, and one prompt has several reference answers: rows have the prompts of other rows, or a prompt lacks something that its answer depends on.`,
    }),
    runCheck({
      code: 'B56.missing',
      title: 'Every row has a reference answer where others have one',
      stage: 'data',
      level: 1,
      rank: 1,
      threshold: `over all records, fewer than ${SEVERAL} prompts lack a reference answer which most others have, or some completion of theirs earns more than the least`,
      why: 'Seen in two data sets that were put together, with the answers in columns of different names: a quarter of the rows could never be paid.',
      remedy: 'Bring the answers of all rows into one column, or leave these rows out.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B20', 'B28', 'B30', 'B62'],
      settles: 'The columns of one of these rows, printed beside those of another.',
      proofs: ['TRL run'],
      needs: ['answers', 'promptOf', 'totals'],
      see({ answers, promptOf, totals }, { prompts }) {
        const graded = withoutNaN(totals);
        const earned = answers.map((answer, p) => ({
          has: answer !== null,
          most: Number.NaN,
          row: prompts?.rows?.[p],
        }));
        for (const group of groupsOf(promptOf)) {
          const own = withoutNaN(group.map((b) => totals[b]!));
          if (own.length > 0) earned[promptOf[group[0]!]!]!.most = largest(own);
        }
        return { least: smallest(graded), prompts: earned };
      },
      test(seen): Outcome<{ prompts: number; without: number; column?: string }> {
        const all = seen.flatMap(({ step, value }) =>
          value.prompts.map((one, prompt) => ({ ...one, step, prompt })),
        );
        const [without, others] = [all.filter(({ has }) => !has), all.filter(({ has }) => has)];
        if (others.length < without.length) return notApplicable('reference answers of most prompts');
        const least = smallest(seen.map(({ value }) => value.least));
        const measured = { prompts: all.length, without: without.length };
        if (without.length < SEVERAL || !without.every(({ most }) => most <= least)) return pass(measured);
        const known = new Set(others.flatMap(({ row }) => columnsOf(row)));
        const column = columnsOf(without[0]!.row).find((name) => !known.has(name));
        return warn(
          { ...measured, ...(column !== undefined && { column }) },
          without.map(({ step, prompt }) => ({ step, prompt })),
        );
      },
      says: (m) =>
        say`${m.without} of ${m.prompts} prompts have no reference answer, which the others have, and none of their completions earns anything${m.column === undefined ? '' : say`: these rows have a column ${quote(m.column)} that the others lack`}.`,
    }),
    stepCheck({
      code: 'B56.gold',
      title: 'A prompt does not hold its answer',
      stage: 'data',
      level: 1,
      rank: 1,
      threshold: `reported when half of the conversations or more end with a message of the assistant that has the reference answer in it, as a word or number, and these messages differ: one for all is the beginning of the answer; or when every prompt ends in its own answer and has more to it, of which ${VARIED} or more are different`,
      why: 'Seen in rows of SFT data that were taken for prompts as they are, and in prompts made of a column that has question and answer: they end with the answer.',
      remedy: 'Take the answer out of the prompt.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B03', 'B30', 'H01'],
      settles: 'The messages of one prompt, printed.',
      proofs: ['TRL run'],
      needs: ['messages', 'answers'],
      test({ messages, answers }): Outcome<{ prompts: number; told: number; asked?: boolean }> {
        if (answers.every((answer) => !answer)) return notApplicable('reference answers');
        const ends = messages.map((message, prompt) => ({
          ...endOf(message),
          prompt,
          answer: goldIn(answers[prompt] ?? ''),
        }));
        const told = ends.filter(
          ({ role, text, answer }) => role === 'assistant' && answer !== '' && hasWord(text, answer),
        );
        const measured = { prompts: messages.length, told: told.length };
        const isBeginning = told.length > 1 && new Set(told.map(({ text }) => text)).size === 1;
        const evidenceOf = (some: typeof ends) => some.map(({ prompt, text }) => ({ prompt, text }));
        if (2 * told.length >= messages.length && !isBeginning) return warn(measured, evidenceOf(told));
        const isVaried = new Set(ends.map(({ answer }) => answer)).size >= VARIED;
        // A text to put in order, or to copy, may be its own answer.
        return isVaried &&
          ends.every(({ text, answer }) => endsIn(text, answer) && lettersOf(text) > lettersOf(answer))
          ? warn({ ...measured, told: ends.length, asked: true }, evidenceOf(ends))
          : pass(measured);
      },
      says: (m) =>
        m.asked
          ? say`All ${m.prompts} prompts end in their own reference answer: unless it is to be repeated, the model is asked with the answer before its eyes.`
          : say`${m.told} of ${m.prompts} prompts end with a message of the assistant that has the reference answer in it: the model is asked with the answer before its eyes.`,
    }),
    stepCheck({
      code: 'B56.blank',
      title: 'Every conversation asks something',
      stage: 'data',
      level: 1,
      rank: 2,
      threshold: 'no message of a user is empty or white space',
      why: 'Seen in rows of which some had lost their question: the model answers what it likes, and is graded by an answer that it cannot know.',
      remedy: 'Look at how rows are made: leave out, or repair, those without a question.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B30'],
      settles: 'The rows of the data whose question is empty, counted.',
      proofs: ['TRL run'],
      needs: ['messages'],
      test({ messages }) {
        const blank = messages.flatMap((message, prompt): Evidence[] =>
          asksNothing(message) ? [{ prompt, text: '' }] : [],
        );
        const measured = { prompts: messages.length, blank: blank.length };
        return blank.length > 0 ? warn(measured, blank) : pass(measured);
      },
      says: (m) =>
        say`${m.blank} of ${m.prompts} prompts ${m.blank === 1 ? 'has' : 'have'} a message of the user without a text: nobody can answer what is not asked.`,
    }),
    stepCheck({
      code: 'B56.roles',
      title: 'Messages have roles that templates know',
      stage: 'data',
      level: 1,
      rank: 2,
      threshold: `every role is one of ${ROLES.join(', ')}; it only informs where all prompts have the other one`,
      why: 'Seen in rows of another data set that called the user “human”: the template wrote it as it stood, and the model had never seen such a turn.',
      remedy: 'Rename the roles of these rows to those of the template: human is user, and gpt is assistant.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B01', 'B30'],
      settles: 'The rendered prompt of such a row, beside that of another.',
      proofs: ['TRL run'],
      needs: ['messages'],
      test({ messages }) {
        const rolesOf = (all: unknown) =>
          (Array.isArray(all) ? all.filter(isMessage) : []).map(({ role }) => role);
        const other = messages.flatMap((all, prompt) => {
          const role = rolesOf(all).find((one) => !ROLES.includes(one));
          return role === undefined ? [] : [{ prompt, text: role }];
        });
        const measured = { prompts: messages.length, other: other.length, role: other[0]?.text ?? '' };
        if (other.length === 0) return pass(measured);
        return (other.length < messages.length ? warn : inform)(measured, other);
      },
      says: (m) =>
        say`${m.other} of ${m.prompts} prompts have a message of the role ${quote(m.role)}, which few templates know: the model is asked in a turn that it may never have seen.`,
    }),
    stepCheck({
      code: 'B56.grown',
      title: 'A conversation does not go on with the questions of other prompts',
      stage: 'data',
      level: 1,
      rank: 2,
      threshold:
        'fewer than half of the different conversations of a step, without the longest, are the beginning of another one that goes on without a message of the assistant',
      why: 'Seen in rows that were made in a loop with one list of messages for all: each has the questions of the rows before it, too.',
      remedy: 'Make a new list of messages for each row.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B17', 'B20', 'B28', 'B30'],
      settles: 'The messages of three rows in a row, printed.',
      proofs: ['TRL run'],
      needs: ['messages'],
      test({ messages }) {
        const conversations = messages.flatMap((one, prompt) =>
          Array.isArray(one)
            ? [{ prompt, turns: one.map((turn) => JSON.stringify(turn)), messages: one }]
            : [],
        );
        const different = [...new Map(conversations.map((one) => [one.turns.join(), one])).values()];
        if (different.length < 2) return notApplicable('several conversations');
        const begun = different.filter(({ turns }) =>
          different.some(
            (other) =>
              other.turns.length > turns.length &&
              turns.every((turn, i) => turn === other.turns[i]) &&
              other.messages.slice(turns.length).every((turn) => isObject(turn) && turn.role !== 'assistant'),
          ),
        );
        const measured = { conversations: different.length, begun: begun.length };
        return 2 * begun.length >= different.length - 1 && begun.length > 0
          ? warn(
              measured,
              begun.map(({ prompt }) => ({ prompt })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`${m.begun} of ${m.conversations} prompts are the beginning of another one, which goes on with more questions: rows share one list of messages, and are asked the questions of other rows, too.`,
    }),
    stepCheck({
      code: 'B56.held-out',
      title: 'Held-out prompts are not trained on',
      stage: 'data',
      level: 1,
      rank: 8,
      threshold: `at most ${percent(LEAKED)} of the held-out prompts are trained on, too; fewer only inform`,
      why: 'Seen in a run that evaluated on rows of its training data: its accuracy told what the model had learnt by heart.',
      remedy: 'Take the held-out rows out of the training data, by their prompts.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      induces: ['B58'],
      settles: 'The held-out prompts that are also in the training data, counted.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { heldOut } }) {
        if (!heldOut || heldOut.prompts === 0) return notApplicable('probes.heldOut');
        const { prompts, trained: same, alike: trained = same } = heldOut;
        const measured = { prompts, trained, same };
        if (trained === 0) return pass(measured);
        return (trained > LEAKED * prompts ? warn : inform)(measured);
      },
      says: (m) =>
        say`${m.trained} of ${m.prompts} held-out prompts are trained on, too${m.same < m.trained ? ', but for white space and capitals' : ''}: the evaluation is one of what was learnt by heart.`,
    }),
    stepCheck({
      code: 'B56.few',
      title: 'The evaluation has several different prompts',
      stage: 'data',
      level: 1,
      rank: 9,
      threshold: `${FEW_PROMPTS} different held-out prompts or more; fewer only inform`,
      why: 'Seen in 24 rows that were two prompts, twelve times each: the evaluation went up and down with these two.',
      remedy: 'Draw the held-out rows from the data by their prompts, each once.',
      consequence: { rerun: 'evaluation', checkpointsVoid: false },
      induces: ['B58'],
      settles: 'The distinct prompts of the held-out rows, counted.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { heldOut } }) {
        if (!heldOut || heldOut.prompts === 0) return notApplicable('probes.heldOut');
        return (heldOut.prompts < FEW_PROMPTS ? inform : pass)({ prompts: heldOut.prompts });
      },
      says: ({ prompts }) =>
        say`The evaluation has ${prompts} different ${prompts === 1 ? 'prompt' : 'prompts'}: what it tells is the luck of ${prompts === 1 ? 'that one' : 'these'}.`,
    }),
    stepCheck({
      code: 'B56.skipped',
      title: 'Rows that are fetched are sampled from',
      stage: 'data',
      level: 1,
      rank: 8,
      threshold: 'each micro-step fetches the batch again that its rollout was sampled from',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Seen with a sampler of its own that gave each batch once: TRL samples from the first of those that one rollout serves, and drops the others.',
      remedy:
        'The sampler has to give each batch as often as a rollout is used: num_iterations × steps_per_generation times (`repeat_count` of TRL’s RepeatSampler).',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The prompts of an epoch, counted: each must be sampled from.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { skipped } }) {
        if (skipped === undefined) return notApplicable('probes.skipped');
        return (skipped > 0 ? warn : pass)({ skipped });
      },
      says: ({ skipped }) =>
        say`${skipped} rows were fetched in this step that no completion was sampled for: part of the data is never trained on, and epochs count too fast.`,
    }),
    stepCheck({
      code: 'B56.discarded',
      title: 'What is sampled is trained on',
      stage: 'generation',
      level: 1,
      rank: 8,
      threshold: 'each step samples its batch once',
      why: 'Seen in an override that sampled a batch up to three times, until its mean reward was high enough.',
      remedy:
        'Look at the override that samples. Where batches are chosen by their reward, the reward that is logged is that of the chosen, and easy prompts are trained on more than hard ones.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The number of calls of generate in one step.',
      proofs: ['TRL run'],
      needs: ['probes'],
      test({ probes: { discarded } }) {
        if (discarded === undefined) return notApplicable('probes.discarded');
        return (discarded > 0 ? warn : pass)({ discarded, times: discarded + 1 });
      },
      says: (m) =>
        say`The batch was sampled ${m.times} times in this step, and only one of these is trained: the completions of ${m.discarded} were thrown away, and no log shows what they earned.`,
    }),
    runCheck({
      code: 'B56.again',
      title: 'An epoch has each batch once',
      stage: 'data',
      level: 1,
      rank: 8,
      threshold: `no two records of one epoch have the same ${SEVERAL} or more prompts in the same order, where others have different ones`,
      why: 'Seen in a run that was resumed with ignore_data_skip=True: it began with the first rows of the epoch once more.',
      remedy:
        'Resume with the place in the data: without ignore_data_skip, with the same seed and the same data. Rows that were trained on again count twice.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The prompts of both steps, side by side.',
      proofs: ['TRL run'],
      needs: ['promptIds', 'probes'],
      see({ promptIds, probes: { epoch } }) {
        if (epoch === undefined) return 'probes.epoch';
        const keys = keysOf(promptIds);
        return { key: keys.join(' '), prompts: new Set(keys).size, epoch };
      },
      test(seen) {
        const isVaried = new Set(seen.map(({ value }) => value.key)).size > 1;
        const pairs = seen.flatMap((later, i) =>
          seen
            .slice(0, i)
            .filter(
              ({ value, step }) =>
                step !== later.step &&
                value.key === later.value.key &&
                value.prompts >= SEVERAL &&
                Math.abs(value.epoch - later.value.epoch) < ONE_EPOCH,
            )
            .map(({ step }) => ({ first: step, again: later.step })),
        );
        const measured = { records: seen.length, first: 0, again: 0, ...pairs[0] };
        return pairs.length > 0 && isVaried
          ? warn(
              measured,
              pairs.map(({ again }) => ({ step: again })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`Step ${m.again} has the prompts of step ${m.first} in the same order, in one epoch: the data was begun again, as after a resume that does not skip what was trained on.`,
    }),
    runCheck({
      code: 'B56.repeated',
      title: 'Steps train on different prompts',
      stage: 'data',
      level: 1,
      rank: 8,
      threshold: `reported when more than ${FEW} records all have the same prompts, whatever their order`,
      why: 'Seen in a loop that took the first batch of a new iterator in every step. Data of so few rows gives it, too.',
      remedy:
        'Make the iterator over the data once, before the loop, and take the next batch in each step; or add data.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The numbers of the rows of two steps, printed by the loader.',
      proofs: ['PyTorch loop'],
      needs: ['promptIds'],
      see: ({ promptIds }) => ({ prompts: [...keysOf(promptIds)].sort().join('\n') }),
      test(seen) {
        const different = new Set(seen.map(({ value }) => value.prompts)).size;
        const measured = { records: seen.length, different };
        return seen.length > FEW && different === 1
          ? warn(
              measured,
              seen.map(({ step }) => ({ step })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`All ${m.records} recorded steps have the same prompts: the data is not moved on, and what is learnt is learnt of these alone.`,
    }),
  ],
};

/** The last message of a conversation, or the text of a plain prompt. */
function endOf(prompt: unknown): { role?: unknown; text: string } {
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : { content: prompt };
  if (!isObject(last)) return { text: '' };
  return { role: last.role, text: typeof last.content === 'string' ? last.content : '' };
}

/** Whether a conversation has a message of the user that is an empty text. */
const asksNothing = (prompt: unknown): boolean =>
  Array.isArray(prompt) &&
  prompt.some(
    (message) =>
      isObject(message) &&
      message.role === 'user' &&
      typeof message.content === 'string' &&
      message.content.trim() === '',
  );

/** Whether a text has the answer with no letter or digit beside it. */
const hasWord = (text: string, answer: string): boolean =>
  text.split(answer).some((before, i, parts) => {
    const after = parts[i + 1];
    return after !== undefined && !/[\p{L}\p{N}]$/u.test(before) && !/^[\p{L}\p{N}]/u.test(after);
  });

/** The columns of a row of the data that have a value. */
const columnsOf = (row: unknown): string[] =>
  isObject(row) ? Object.keys(row).filter((name) => row[name] !== null && row[name] !== undefined) : [];
