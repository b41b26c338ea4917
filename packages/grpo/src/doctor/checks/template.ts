/** The prompt has the form that the model was trained on. */
import { stepCheck } from '../check.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';

/** Share of prompts at the limit above which some were probably cut. */
const AT_LIMIT = 0.01;
/** Share of completions with markup above which it is no accident of a model that knows nothing yet. */
const MARKED = 0.25;
/** Tags that belong into answers, special tokens or not. */
const ANSWER_TAG = /^<\/?(think|thinking|answer|reasoning|tool_call|tool_response)>$/;
const CURRENT_DATE = /(Today Date|Current date|Today's date|Current time): *[^\n<]*\d[^\n<]*/i;
/** As many characters of a header as must be there. */
const WORD = 4;

export const templateChecks = [
  stepCheck({
    code: 'B03.header',
    title: 'A rendered conversation ends by opening the assistant’s turn',
    stage: 'template',
    kind: 'identity',
    level: 1,
    threshold:
      'the prompt’s text ends with what the template puts before an answer, with a beginning of it, or with no more than opening tags after it',
    source: 'identity; mlx-examples#1233, prompts without the assistant’s header',
    remedy: 'Render with the generation prompt, or use a template that has one.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B08', 'B16', 'B26', 'B28', 'B30'],
    needs: ['assistantHeader', 'promptTexts'],
    test({ assistantHeader, promptTexts }, { prompts }) {
      if (assistantHeader.trim() === '') return notApplicable('an assistant’s header in the template');
      const without = promptTexts.flatMap((text, prompt): Evidence[] =>
        opensAnswer(text, assistantHeader) || isAnswerBegun(prompts?.messages?.[prompt])
          ? []
          : [{ prompt, text: `…${text.slice(-40)}` }],
      );
      const measured = { header: assistantHeader, prompts: promptTexts.length, without: without.length };
      return without.length > 0 ? fail(measured, without) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B04.bos',
    title: 'A prompt begins with as many BOS tokens as the model expects',
    stage: 'template',
    kind: 'identity',
    level: 1,
    threshold: 'leading BOS tokens = tokenizer.expectedBos (0 or 1)',
    source: 'identity; open-r1#462 and vllm#27515 (two), trl#3520 (none)',
    remedy: 'Let either the template or the tokenizer add the BOS, not both and not neither.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    needs: ['bosId', 'expectedBos', 'promptIds'],
    test({ bosId, expectedBos, promptIds }) {
      const wrong = promptIds.flatMap((ids, prompt): Evidence[] => {
        const found = leading(ids, bosId);
        return found === expectedBos ? [] : [{ prompt, values: { found } }];
      });
      const measured = { expected: expectedBos, prompts: promptIds.length, wrong: wrong.length };
      return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B09.prompt',
    title: 'Prompts are not cut to the longest length allowed',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: `at most ${100 * AT_LIMIT} % of the prompts, and not more than one, as long as the limit`,
    source: 'proposal; trl#3569, trl#4358',
    remedy:
      'Raise the limit, or leave out rows that do not fit: a cut prompt loses its question or its header.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    settles: 'The rendered text of such a prompt: it must begin with the first turn and end with the header.',
    needs: ['declared', 'promptIds'],
    test({ declared: { maxPromptTokens }, promptIds }) {
      if (maxPromptTokens === undefined) return notApplicable('declared.maxPromptTokens');
      const atLimit = promptIds.flatMap((ids, prompt): Evidence[] =>
        ids.length >= maxPromptTokens ? [{ prompt, values: { tokens: ids.length } }] : [],
      );
      const measured = { limit: maxPromptTokens, prompts: promptIds.length, atLimit: atLimit.length };
      // One may have that length by chance.
      const many = atLimit.length > Math.max(AT_LIMIT * promptIds.length, promptIds.length > 1 ? 1 : 0);
      return many ? warn(measured, atLimit) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B01.markup',
    title: 'Completions do not begin with the template’s own tokens',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: `at most ${100 * MARKED} % of the completions with a special token’s text in their first 120 characters; end, padding and tags such as <think> aside; after step 1 it only informs`,
    source: 'seed 002: header tokens inside responses show that SFT and GRPO used other templates',
    remedy: 'Render prompts of SFT, GRPO and evaluation by one function.',
    consequence: { rerun: 'SFT and GRPO', checkpointsVoid: true },
    settles: 'One row rendered by the code of both phases: the ids must be equal up to the answer.',
    needs: ['tokenizer', 'texts'],
    test({ tokenizer: { specialTokens, endIds = [], padId }, texts }, { completions, step }) {
      if (!specialTokens) return notApplicable('tokenizer.specialTokens');
      if (completions?.source?.some((source) => source !== 0))
        return notApplicable('completions of the model’s tokens alone');
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
      // Later a policy may have come to it by itself.
      return step > 1 ? inform(measured, marked) : warn(measured, marked);
    },
  }),
  stepCheck({
    code: 'B05.system',
    title: 'What a conversation says is in the rendered prompt',
    stage: 'template',
    kind: 'identity',
    level: 1,
    threshold: 'half of the words of every system and user message, or more, in the rendered text',
    source: 'identity; seed 000: a system prompt that was lost on the way',
    remedy: 'Look at what the template does with that role, and hand the conversation over whole.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    needs: ['messages', 'promptTexts'],
    test({ messages, promptTexts }) {
      const told = messages.map((prompt) => saidIn(prompt));
      if (told.every((contents) => contents.length === 0)) return notApplicable('messages with text');
      const lost = told.flatMap((contents, prompt): Evidence[] => {
        const missing = contents.find(({ content }) => isLost(content, promptTexts[prompt]!));
        return missing ? [{ prompt, text: shorten(missing.content), values: { role: missing.role } }] : [];
      });
      const measured = { prompts: messages.length, lost: lost.length };
      return lost.length > 0 ? fail(measured, lost) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B05.date',
    title: 'The template puts no date into the prompt',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: 'no line with a current date that the messages do not have',
    source: 'seed 000: “Today Date” in an otherwise empty system block: other ids from day to day',
    remedy: 'Set the date that the template takes, or give a system message of your own.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    settles: 'The same prompt rendered with another clock: the ids must be equal.',
    needs: ['messages', 'promptTexts'],
    test({ messages, promptTexts }) {
      const dated = promptTexts.flatMap((text, prompt): Evidence[] => {
        const date = CURRENT_DATE.exec(text)?.[0];
        return date === undefined || JSON.stringify(messages[prompt] ?? null).includes(date)
          ? []
          : [{ prompt, text: shorten(date) }];
      });
      const measured = { prompts: promptTexts.length, dated: dated.length, line: dated[0]?.text ?? '' };
      return dated.length > 0 ? inform(measured, dated) : pass(measured);
    },
  }),
];

/** Whether a text ends where an answer is to begin. */
function opensAnswer(text: string, header: string): boolean {
  const whole = header.trim();
  const at = text.lastIndexOf(whole);
  // A prompt may open more than the template does before an old answer, as <think>.
  if (at >= 0 && /^\s*(<\/?\w+>\s*)*$/.test(text.slice(at + whole.length))) return true;
  // And a template may put more before an answer than the prompt opens.
  for (let length = header.length; length > 0; length--) {
    const beginning = header.slice(0, length);
    if (beginning.trim().length >= Math.min(WORD, whole.length) && text.endsWith(beginning)) return true;
  }
  return false;
}

interface Said {
  role: string;
  content: string;
}

const isMessage = (value: unknown): value is Said =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as Partial<Said>).role === 'string' &&
  typeof (value as Partial<Said>).content === 'string';

/** A prompt's messages of system and user that are plain text; a prompt that is a text itself has none. */
function saidIn(prompt: unknown): Said[] {
  const messages = Array.isArray(prompt) ? prompt.filter(isMessage) : [];
  return messages.filter(
    ({ role, content }) => (role === 'system' || role === 'user') && content.trim() !== '',
  );
}

/** Whether a text lacks most words of a content: encoding may have normalised some, and cutting is another fault. */
function isLost(content: string, text: string): boolean {
  const words = content.trim().split(/\s+/).slice(0, 200);
  return words.filter((word) => text.includes(word)).length < words.length / 2;
}

/** Whether the conversation ends in an assistant's message, which the completion goes on with. */
function isAnswerBegun(prompt: unknown): boolean {
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : undefined;
  return isMessage(last) && last.role === 'assistant';
}

/** How many times a list begins with an id. */
function leading(ids: ArrayLike<number>, id: number): number {
  let count = 0;
  while (ids[count] === id) count++;
  return count;
}
