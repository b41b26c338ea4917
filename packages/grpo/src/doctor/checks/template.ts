/** The prompt has the form that the model was trained on. */
import { stepCheck } from '../check.js';
import { type Evidence, fail, notApplicable, pass, shorten, warn } from '../outcome.js';

/** Share of prompts at the limit above which some were probably cut. */
const AT_LIMIT = 0.01;

export const templateChecks = [
  stepCheck({
    code: 'B03.header',
    title: 'A rendered conversation ends by opening the assistant’s turn',
    stage: 'template',
    kind: 'identity',
    level: 1,
    threshold: 'the prompt’s text ends with a beginning of what the template puts before an answer',
    source: 'identity; mlx-examples#1233, prompts without the assistant’s header',
    remedy: 'Render with the generation prompt, or use a template that has one.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B08', 'B16', 'B26', 'B28', 'B30'],
    needs: ['assistantHeader', 'promptTexts'],
    test({ assistantHeader, promptTexts }) {
      if (assistantHeader === '') return notApplicable('an assistant’s header in the template');
      const without = promptTexts.flatMap((text, prompt): Evidence[] =>
        endsWithBeginningOf(text, assistantHeader) ? [] : [{ prompt, text: `…${text.slice(-40)}` }],
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
    threshold: `at most ${100 * AT_LIMIT} % of the prompts exactly as long as the limit`,
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
      return atLimit.length > AT_LIMIT * promptIds.length ? warn(measured, atLimit) : pass(measured);
    },
  }),
  stepCheck({
    code: 'B01.markup',
    title: 'Completions do not begin with the template’s own tokens',
    stage: 'template',
    kind: 'heuristic',
    level: 1,
    threshold: 'no special token’s text in the first 120 characters of a completion',
    source: 'seed 002: header tokens inside responses show that SFT and GRPO used other templates',
    remedy: 'Render prompts of SFT, GRPO and evaluation by one function.',
    consequence: { rerun: 'SFT and GRPO', checkpointsVoid: true },
    settles: 'One row rendered by the code of both phases: the ids must be equal up to the answer.',
    needs: ['tokenizer', 'texts'],
    test({ tokenizer: { specialTokens, endIds = [] }, texts }) {
      if (!specialTokens) return notApplicable('tokenizer.specialTokens');
      const markup = Object.entries(specialTokens)
        .filter(([id, text]) => text.length > 2 && !endIds.includes(Number(id)))
        .map(([, text]) => text);
      const marked = texts.flatMap((text, completion): Evidence[] => {
        const head = text.slice(0, 120);
        return markup.some((token) => head.includes(token)) ? [{ completion, text: shorten(head) }] : [];
      });
      const measured = { completions: texts.length, marked: marked.length };
      return marked.length > 0 ? warn(measured, marked) : pass(measured);
    },
  }),
];

/** Whether some end of the text is a beginning of `header`: a template may put more before an answer than it opens with. */
function endsWithBeginningOf(text: string, header: string): boolean {
  for (let length = header.length; length > 0; length--) {
    if (text.endsWith(header.slice(0, length))) return true;
  }
  return false;
}

/** How many times a list begins with an id. */
function leading(ids: ArrayLike<number>, id: number): number {
  let count = 0;
  while (ids[count] === id) count++;
  return count;
}
