import { largest } from '../../maths/moments.js';
import { longestRun } from '../../maths/trend.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs } from '../inputs.js';
import { changedTexts } from '../measures/text-changes.js';
import { type Evidence, fail, notApplicable, pass, shorten, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Tokens of a prompt’s end that a completion must repeat from its first token to look wrongly cut. */
const REPEATED = 8;

/** Characters of a prompt’s end: a word and more, so that a new line or a quote does not count. */
const CHARACTERS = 8;

export const b10: Fault = {
  code: 'B10',
  name: 'left-padding cut',
  title: 'With left padding, completions are cut out at the prompt’s token count',
  checks: [
    stepCheck({
      code: 'B10.cut',
      title: 'A completion begins where the prompt ends',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold: `at most half of the completions begin with the prompt’s last ${REPEATED} or more tokens`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'TRL cuts at the padded width of the prompts. A cut at the count of their tokens leaves prompt text in the completion.',
      remedy: 'Cut at the padded width of the prompts, not at the number of their tokens.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B26', 'B27'],
      settles: 'Compare the sampler’s raw output of one padded row with the text that the reward got.',
      needs: ['promptIds', 'promptOf', 'ids'],
      test({ promptIds, promptOf, ids }) {
        const repeating = ids.flatMap((row, completion): Evidence[] => {
          const repeated = overlap(promptIds[promptOf[completion]!]!, row);
          return repeated >= REPEATED ? [{ completion, values: { repeated } }] : [];
        });
        const measured = { completions: ids.length, repeating: repeating.length };
        return repeating.length > ids.length / 2 ? warn(measured, repeating) : pass(measured);
      },
      says: (m) => say`${m.repeating} of ${m.completions} completions begin with the end of their prompt.`,
    }),
    stepCheck({
      code: 'B10.graded',
      title: 'Rewards do not see the prompt',
      stage: 'reward',
      level: 2,
      rank: 1,
      threshold:
        'no graded text is the end of its prompt and then the sampled text, unless all are by the same text, as with an answer that the prompt begins, or declared.textChanges has `prompt`',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'A text that is cut out of the padded output at the count of the prompt’s tokens begins with the prompt’s end, by as much as the row was padded.',
      remedy: 'Decode the sampled ids alone: cut the output at the padded width of the prompts.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B26', 'B27'],
      proofs: ['native'],
      needs: ['texts', 'sampledTexts', 'promptTexts', 'promptOf'],
      test({ texts }, record) {
        const begun = changedTexts(record)!.filter(({ change }) => change === 'prompt');
        const measured = { completions: texts.length, begun: begun.length };
        if (record.declared?.textChanges?.includes('prompt') || isPrefill(begun, texts.length))
          return pass(measured);
        const evidence = begun.map(({ completion, text }): Evidence => ({ completion, text }));
        return begun.length > 0
          ? fail({ ...measured, text: shorten(begun[0]!.text) }, evidence)
          : pass(measured);
      },
      says: (m) =>
        say`The rewards get the end of the prompt before the answer in ${m.begun} of ${m.completions} completions: ${JSON.stringify(m.text)} was not sampled.`,
    }),
    stepCheck({
      code: 'B10.text',
      title: 'What the reward grades does not begin with the prompt',
      stage: 'reward',
      level: 2,
      rank: 1,
      threshold: `no two or more completions that are all of a prompt begin with the same end of it, of ${CHARACTERS} or more characters, where the sampled ids do not begin with a token of the prompt’s end; unless all completions of the step begin with one text, as with an answer that the prompt begins`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'A text that is cut out of the padded output at the count of the prompt’s tokens begins with the prompt’s end, by as much as the row was padded: all completions of a prompt do, and those of the longest prompt do not.',
      remedy: 'Decode the sampled ids alone: cut the output at the padded width of the prompts.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B26', 'B27'],
      settles: 'Decode the sampled ids of one completion, and compare with the text that the reward got.',
      needs: ['promptTexts', 'promptIds', 'promptOf', 'ids', 'texts'],
      test({ promptTexts, promptIds, promptOf, ids, texts }, record) {
        if (changedTexts(record)) return notApplicable('texts alone: B10.graded has the sampled ones, too');
        const begun = texts.flatMap((text, completion) => {
          const prompt = promptOf[completion]!;
          // Ids that repeat the prompt's end themselves show nothing.
          if (overlap(promptIds[prompt]!, ids[completion]!) > 0) return [];
          const repeated = overlap(promptTexts[prompt]!, text);
          return [{ completion, text: repeated >= CHARACTERS ? text.slice(0, repeated) : '' }];
        });
        // By prompt; nothing where its completions begin with different texts.
        const endOf = new Map<number, string>();
        for (const { completion, text } of begun) {
          const prompt = promptOf[completion]!;
          endOf.set(prompt, (endOf.get(prompt) ?? text) === text ? text : '');
        }
        const whole = begun.filter(({ completion }) => endOf.get(promptOf[completion]!) !== '');
        const measured = { completions: texts.length, repeating: whole.length };
        if (whole.length < 2 || isPrefill(whole, begun.length)) return pass(measured);
        return warn(
          measured,
          whole.map(({ completion, text }) => ({ completion, text, values: { repeated: text.length } })),
        );
      },
      says: (m) =>
        say`The texts of ${m.repeating} of ${m.completions} completions begin with the end of their prompt, and their sampled ids do not: the reward grades other text than was sampled.`,
    }),
    stepCheck({
      code: 'B10.length',
      title: 'No completion is longer than allowed',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold: 'tokens of the model in a row ≤ declared.rollout.maxNewTokens',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'A longer completion contains prompt or padding tokens.',
      remedy: 'Look at where the completion is cut out of the sampler’s output.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['declared', 'lengths'],
      test({ declared: { rollout }, lengths }, record) {
        const { maxNewTokens } = rollout ?? {};
        if (maxNewTokens === undefined) return notApplicable('declared.rollout.maxNewTokens');
        const sources = inputs.sources.from(record);
        const long = [...lengths].flatMap((length, completion): Evidence[] => {
          if (length <= maxNewTokens) return [];
          // A tool's answer between them begins the count again: each turn has its own limit in some systems.
          const own = sources ? longestRun(sources[completion]!, (source) => source === 0).length : length;
          return own > maxNewTokens ? [{ completion, values: { tokens: own } }] : [];
        });
        const measured = { limit: maxNewTokens, longest: largest(lengths), long: long.length };
        return long.length > 0 ? fail(measured, long) : pass(measured);
      },
      says: (m) =>
        say`${m.long} completions are longer than the ${m.limit} allowed tokens (the longest has ${m.longest}).`,
    }),
  ],
};

/** Whether all completions of the step begin with one text: an answer that the prompt begins. */
const isPrefill = (begun: readonly { text: string }[], completions: number): boolean =>
  begun.length === completions && begun.every(({ text }) => text === begun[0]!.text);

/** The longest end of the prompt that the completion begins with, in tokens or characters. */
function overlap<T extends Int32Array | string>(prompt: T, completion: T): number {
  for (let length = Math.min(prompt.length, completion.length); length > 0; length--) {
    const from = prompt.length - length;
    let equal = 0;
    while (equal < length && completion[equal] === prompt[from + equal]) equal++;
    if (equal === length) return length;
  }
  return 0;
}
