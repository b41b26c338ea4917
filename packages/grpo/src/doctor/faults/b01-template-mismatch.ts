import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Tags that belong in answers, whether special tokens or not. */
const ANSWER_TAG = /^<\/?(think|thinking|answer|reasoning|tool_call|tool_response)>$/;
/** Share of completions with markup above which chance in an untrained model does not explain it. */
const MARKED = 0.25;

export const b01: Fault = {
  code: 'B01',
  name: 'template mismatch',
  title: 'SFT and GRPO render with different templates',
  left: 'pre-flight',
  checks: [
    stepCheck({
      code: 'B01.markup',
      title: 'Completions do not begin with the template’s own tokens',
      stage: 'template',
      kind: 'heuristic',
      level: 1,
      rank: 2,
      threshold: `at most ${100 * MARKED} % of the completions have a special token’s text in their first 120 characters; end tokens, padding and tags such as <think> do not count; after step 1 the check only informs`,
      sources: ['unslothai/unsloth#416'],
      why: 'A completion that holds header tokens shows that SFT and GRPO used different templates.',
      remedy: 'Render the prompts of SFT, GRPO and evaluation with one function.',
      consequence: { rerun: 'SFT and GRPO', checkpointsVoid: true },
      settles:
        'Render one row with the code of SFT and with the code of GRPO: the ids must be equal up to the answer.',
      proofs: ['native'],
      needs: ['tokenizer', 'texts'],
      test({ tokenizer: { specialTokens, endIds = [], padId }, texts }, { completions, step }) {
        if (!specialTokens) return notApplicable('tokenizer.specialTokens');
        if (completions?.source?.some((source) => source !== 0))
          return notApplicable('completions of the model’s tokens only');
        const markup = Object.entries(specialTokens)
          .filter(
            ([id, text]) =>
              text.length > 2 && !ANSWER_TAG.test(text) && ![...endIds, padId].includes(Number(id)),
          )
          .map(([, text]) => text);
        const marked = texts.flatMap((text, completion): Evidence[] => {
          const head = text.slice(0, 120);
          return markup.some((token) => head.includes(token)) ? [{ completion, text: shorten(head) }] : [];
        });
        const measured = { completions: texts.length, marked: marked.length };
        if (marked.length <= MARKED * texts.length) return pass(measured);
        // After step 1 the policy may have learnt it by itself.
        return step > 1 ? inform(measured, marked) : warn(measured, marked);
      },
      says: (m) => say`${m.marked} of ${m.completions} completions begin with tokens of the chat template.`,
    }),
    stepCheck({
      code: 'B01.plain',
      title: 'A model with a chat template gets conversations',
      stage: 'template',
      kind: 'heuristic',
      level: 1,
      rank: 3,
      threshold:
        'no tokenizer with a chat template gets prompts that are texts without any of its special tokens; it only informs, since a base model may have a template and do without it',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Trainers apply the template to lists of messages only: a text goes to the model as it is, and a model that knows conversations may answer nothing, or go on with the question.',
      remedy:
        'For a model that was tuned on conversations make each prompt a list of messages: [{"role": "user", "content": "…"}].',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The ids of one prompt, decoded with their special tokens.',
      proofs: ['TRL run'],
      needs: ['tokenizer', 'messages', 'promptTexts'],
      test({ tokenizer: { hasChatTemplate, specialTokens = {}, bosId }, messages, promptTexts }) {
        if (hasChatTemplate === undefined) return notApplicable('tokenizer.hasChatTemplate');
        const marks = Object.entries(specialTokens).filter(([id]) => Number(id) !== bosId);
        const isPlain =
          hasChatTemplate &&
          messages.every((message) => typeof message === 'string') &&
          promptTexts.every((text) => !marks.some(([, token]) => text?.includes(token)));
        return (isPlain ? inform : pass)({ prompts: messages.length });
      },
      says: (m) =>
        say`The ${m.prompts} prompts are plain texts, though the tokenizer has a chat template: nothing tells the model where the question ends and the answer begins.`,
    }),
  ],
};
