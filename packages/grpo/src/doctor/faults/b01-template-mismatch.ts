import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Tags that belong in answers, whether special tokens or not. */
const ANSWER_TAG = /^<\/?(think|thinking|answer|reasoning|tool_call|tool_response)>$/;
/** Tokens that stand for images and the like, or fill up. */
const OF_MEDIA = /image|video|audio|vision|pad|fim/i;
/** Tokens that end a turn, whether a completion ends with them or not. */
const ENDS = /im_end|eot|eom|eos|end.?of|<\|end\|>|<\/s>|\[\/INST\]/i;
/** Special tokens within a header. */
const WITHIN = /header|message/i;
/** Tokens that a header has at most: `<|im_start|>user` and a new line are three. */
const HEADER = 6;
/** Share of completions with markup above which chance in an untrained model does not explain it. */
const MARKED = 0.25;

/** Matches marks that are tokens in every model that was tuned with them. */
const ALWAYS_ONE =
  /<\|im_(?:start|end)\|>|<\|(?:start|end)_header_id\|>|<\|eot_id\|>|<(?:start|end)_of_turn>/g;

/** Matches a list of messages that was turned into text, by Python or as JSON. */
const SERIALIZED = /^\s*\[\s*\{\s*['"](?:role|content|from)['"]\s*:/;

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
      level: 1,
      rank: 3,
      threshold:
        'no tokenizer with a chat template gets prompts that are texts without any of its special tokens; it warns where they are lists of messages as text, and else only informs, since a base model may have a template and do without it',
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
        const serialized = messages.filter(
          (message) => typeof message === 'string' && SERIALIZED.test(message),
        );
        const measured = { prompts: messages.length, serialized: serialized.length };
        if (isPlain && serialized.length > 0) return warn(measured);
        return (isPlain ? inform : pass)(measured);
      },
      says: (m) =>
        m.serialized > 0
          ? say`${m.serialized} of ${m.prompts} prompts are a list of messages that was turned into text, brackets and quotes included: no template is applied to it.`
          : say`The ${m.prompts} prompts are plain texts, though the tokenizer has a chat template: nothing tells the model where the question ends and the answer begins.`,
    }),
    stepCheck({
      code: 'B01.split',
      title: 'Tokens of a template are tokens of the vocabulary',
      stage: 'template',
      level: 1,
      rank: 2,
      threshold:
        'in fewer than half of the prompts stands a header or an end of ChatML, Llama 3 or Gemma that is no token of the vocabulary; other marks may be plain text by design, as Zephyr’s are',
      why: 'Seen in a ChatML template on a tokenizer without its tokens: each mark became seven pieces of text, prompts four times as long, and the model had never seen any.',
      remedy:
        'Use the template that the model was tuned with. A new one needs its tokens added (add_special_tokens), the embeddings resized, and training on it before GRPO.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B16', 'B20', 'B27', 'B30', 'B62'],
      settles: 'The ids of one prompt, each decoded by itself.',
      proofs: ['TRL run'],
      needs: ['tokenizer', 'promptTexts'],
      test({ tokenizer: { pieces }, promptTexts }) {
        if (!pieces) return notApplicable('tokenizer.pieces');
        const known = new Set(textsOf(pieces));
        const split = promptTexts.flatMap((text, prompt): Evidence[] => {
          const mark = text?.match(ALWAYS_ONE)?.find((one) => !known.has(one));
          return mark === undefined ? [] : [{ prompt, text: mark }];
        });
        const measured = { prompts: promptTexts.length, split: split.length, mark: split[0]?.text ?? '' };
        return split.length > 0 && split.length >= promptTexts.length / 2
          ? warn(measured, split)
          : pass(measured);
      },
      says: (m) =>
        say`In ${m.split} of ${m.prompts} prompts ${m.mark} is no token of the vocabulary but some pieces of text: the tokenizer does not know the tokens of this template, and the model has not learnt them.`,
    }),
    stepCheck({
      code: 'B01.twice',
      title: 'The template is applied once',
      stage: 'template',
      level: 1,
      rank: 2,
      threshold: `in fewer than half of the prompts a header of the template, up to ${HEADER} tokens from a special token on, stands twice in a row, or begins anew within ${HEADER} tokens without an end token between; tokens of images and padding do not count`,
      why: 'Seen in data whose prompts had been rendered already, and were given as messages: a trainer renders messages once more. Between two turns there is an end.',
      remedy:
        'Give messages as they are, without tokens of the template, or the rendered text as a text; then read one prompt with its special tokens.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30', 'B20', 'B62'],
      settles: 'The ids of one prompt, decoded with their special tokens.',
      needs: ['tokenizer', 'promptIds'],
      test({ tokenizer: { specialTokens, endIds = [], padId, bosId }, promptIds }) {
        if (!specialTokens) return notApplicable('tokenizer.specialTokens');
        const ends = (id: number) => endIds.includes(id) || ENDS.test(specialTokens[id] ?? '');
        // What another role says may be short.
        const isOther = (id: number) => specialTokens[id] !== undefined && !WITHIN.test(specialTokens[id]);
        const opens = (id: number) => {
          const text = specialTokens[id];
          // A token that begins all text is no header: B04 judges how often it is there.
          if (text === undefined || id === padId || id === bosId || ends(id)) return false;
          return !ANSWER_TAG.test(text) && !OF_MEDIA.test(text);
        };
        const twice = promptIds.flatMap((ids, prompt): Evidence[] => {
          const token = headerTwice(ids, opens, (id) => ends(id) || isOther(id));
          return token === undefined ? [] : [{ prompt, token, text: specialTokens[ids[token]!]! }];
        });
        const measured = { prompts: promptIds.length, twice: twice.length, header: twice[0]?.text ?? '' };
        return twice.length > 0 && twice.length >= promptIds.length / 2
          ? warn(measured, twice)
          : pass(measured);
      },
      says: (m) =>
        say`In ${m.twice} of ${m.prompts} prompts a header of the chat template stands twice, ${m.header}: the template was applied to text that it had rendered already.`,
    }),
  ],
};

/** The texts of the tokens that occur. */
function textsOf({ bytes, lengths }: { bytes: Uint8Array; lengths: Int32Array }): string[] {
  let end = 0;
  return Array.from(lengths, (length) => {
    end += length;
    return Buffer.from(bytes.subarray(end - length, end)).toString();
  });
}

/** The token at which a header follows on itself, or on the beginning of another one without an end between. */
function headerTwice(
  ids: ArrayLike<number>,
  opens: (id: number) => boolean,
  parts: (id: number) => boolean,
): number | undefined {
  for (let at = 0; at < ids.length; at++) {
    if (!opens(ids[at]!)) continue;
    for (let length = 1; length <= HEADER; length++) {
      if (ids[at + length] !== ids[at]) {
        if (parts(ids[at + length]!)) break;
        continue;
      }
      // Three or more at one distance are no header.
      if (ids[at + 2 * length] !== ids[at]) return at + length;
      while (ids[at + length] === ids[at]) at += length;
      break;
    }
  }
  return undefined;
}
