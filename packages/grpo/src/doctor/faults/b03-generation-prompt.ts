import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { isMessage } from '../measures/conversation.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { quote, say } from '../sentence.js';

/** Share of blank completions. */
const BLANK = 0.05;
/** Fewest characters of the header that must be there. */
const WORD = 4;

export const b03: Fault = {
  code: 'B03',
  name: 'generation prompt',
  title: 'The generation prompt is missing',
  checks: [
    stepCheck({
      code: 'B03.header',
      title: 'A rendered conversation ends by opening the assistant’s turn',
      stage: 'template',
      kind: 'identity',
      level: 1,
      rank: 1,
      threshold:
        'the prompt’s text ends with the template’s assistant header or with the start of it; only opening tags may follow the header',
      sources: ['ml-explore/mlx-examples#1233', 'parity/trl_faults.py'],
      remedy: 'Render with the generation prompt, or use a template that has one.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B26', 'B28', 'B30'],
      proofs: ['native', 'TRL run'],
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
      says: (m) =>
        say`${m.without} of ${m.prompts} prompts do not end with the assistant header ${quote(m.header)}. The model continues the user's turn, or ends at once.`,
    }),
    stepCheck({
      code: 'B03.blank',
      title: 'Completions are not blank',
      stage: 'generation',
      kind: 'heuristic',
      level: 2,
      rank: 3,
      threshold: `at most ${100 * BLANK} % of the completions are blank, within two standard errors; after step 1 a share of up to a half only informs`,
      sources: ['ml-explore/mlx-examples#1233'],
      remedy: 'Look at the end of the rendered prompt and at the first tokens sampled.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B26', 'B28', 'B30'],
      settles:
        'The tokens of a blank completion: an end token at once, or special tokens that decoding drops.',
      proofs: ['native'],
      needs: ['texts'],
      test({ texts }, { step }) {
        const blank = texts.flatMap((text, completion): Evidence[] =>
          text.trim() === '' ? [{ completion, text: shorten(text) }] : [],
        );
        const measured = { completions: texts.length, blank: blank.length };
        if (blank.length - 2 * Math.sqrt(blank.length) <= BLANK * texts.length) return pass(measured);
        // After step 1 the policy may have learnt it by itself.
        return step > 1 && blank.length <= texts.length / 2 ? inform(measured, blank) : warn(measured, blank);
      },
      says: (m) => say`${m.blank} of ${m.completions} completions are blank.`,
    }),
  ],
};

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

/** Whether the conversation ends in an assistant's message, which the completion goes on with. */
function isAnswerBegun(prompt: unknown): boolean {
  const last: unknown = Array.isArray(prompt) ? prompt.at(-1) : undefined;
  return isMessage(last) && last.role === 'assistant';
}
