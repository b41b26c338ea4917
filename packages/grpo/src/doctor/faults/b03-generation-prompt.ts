import { largest } from '../../maths/moments.js';
import { runCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { keysOf } from '../inputs.js';
import { isMessage, turnTokens } from '../measures/conversation.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, shorten, warn } from '../outcome.js';
import { percent, quote, say } from '../sentence.js';

/** Share of blank completions. */
const BLANK = 0.05;
/** Last tokens in which most prompts agree, and how many do. */
const [END, MOST] = [2, 0.6];
/** Fewest prompts that end otherwise. */
const CUT = 2;
/** Characters of a message that are looked for behind its role. */
const BEGINNING = 16;
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
    runCheck({
      code: 'B03.cut',
      title: 'No prompt is cut off at its end',
      stage: 'template',
      level: 1,
      rank: 3,
      threshold: `over all records, of different prompts of which ${percent(MOST)} or more end in the same ${END} tokens, no ${CUT} or more others are all as long as each other while none is longer`,
      why: 'Seen in prompts that were tokenized with truncation and decoded again: the longest lost their question mark and the assistant’s header, and none of their completions was ever right.',
      remedy:
        'Cut at the beginning (truncation_side="left"), allow more tokens, or leave rows out that are too long.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B28', 'B30'],
      settles: 'The last tokens of the longest prompts, decoded.',
      proofs: ['TRL run'],
      needs: ['promptIds'],
      see: ({ promptIds }) =>
        keysOf(promptIds).map((key, p) => {
          const ids = promptIds[p]!;
          return { key, tokens: ids.length, end: ids.subarray(-END).join(' ') };
        }),
      test(seen): Outcome<{ prompts: number; cut: number; tokens: number }> {
        const all = [...new Map(seen.flatMap(({ value }) => value.map((one) => [one.key, one]))).values()];
        const counts = new Map<string, number>();
        for (const { end } of all) counts.set(end, (counts.get(end) ?? 0) + 1);
        const [usual, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? ['', 0];
        const others = all.filter(({ end }) => end !== usual);
        const tokens = largest(all.map((one) => one.tokens));
        const isCut =
          count >= MOST * all.length && others.length >= CUT && others.every((one) => one.tokens === tokens);
        const measured = { prompts: all.length, cut: isCut ? others.length : 0, tokens };
        return isCut ? warn(measured) : pass(measured);
      },
      says: (m) =>
        say`${m.cut} of ${m.prompts} different prompts do not end as the others do, and each of them has ${m.tokens} tokens, more than which none has: they are cut off there, and the model is asked without the end of its prompt.`,
    }),
    stepCheck({
      code: 'B03.closed',
      title: 'A prompt does not end in a token that ends a completion',
      stage: 'template',
      level: 2,
      rank: 2,
      threshold: 'fewer than half of the prompts end in one of the tokens that end a completion',
      why: 'Seen with a tokenizer that adds its end token to every text: the model was asked to go on behind an end, and all completions were blank.',
      remedy:
        'Turn it off (add_eos_token=False, or the post-processor of the tokenizer), or put the header of an answer behind it (add_generation_prompt).',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B03', 'B16', 'B20', 'B26', 'B28', 'B30'],
      settles: 'The last id of one prompt, decoded with its special tokens.',
      proofs: ['native', 'TRL run'],
      needs: ['tokenizer', 'promptIds'],
      test({ tokenizer: { endIds, specialTokens }, promptIds }) {
        if (!endIds) return notApplicable('tokenizer.endIds');
        const closed = promptIds.flatMap((ids, prompt): Evidence[] => {
          const last = ids.at(-1)!;
          // A beginning by itself may be the same token.
          return ids.length > 1 && endIds.includes(last)
            ? [{ prompt, text: specialTokens?.[last] ?? String(last) }]
            : [];
        });
        const measured = { prompts: promptIds.length, closed: closed.length, token: closed[0]?.text ?? '' };
        return closed.length > 0 && closed.length >= promptIds.length / 2
          ? warn(measured, closed)
          : pass(measured);
      },
      says: (m) =>
        say`${m.closed} of ${m.prompts} prompts end in ${m.token}, which ends a completion: the model goes on behind an end, and may end at once.`,
    }),
    stepCheck({
      code: 'B03.open',
      title: 'The template closes an answer with a special token where it opens one with such',
      stage: 'template',
      level: 2,
      rank: 2,
      threshold:
        'where special tokens stand around an answer, one follows it that ends a completion, or that does not also open the answer',
      why: 'Seen in a template of one’s own that opened turns and closed none: the model had learnt the end of a turn, and its prompts had turns without it.',
      remedy:
        'Close every message in the template with the end of turn that the model knows, or use the model’s own template.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B26', 'B28', 'B30'],
      settles: 'A conversation of three messages, rendered, beside one of the model’s own template.',
      proofs: ['TRL run'],
      needs: ['tokenizer', 'assistantHeader', 'afterAnswer'],
      test({ tokenizer: { endIds = [], specialTokens = {} }, assistantHeader, afterAnswer }) {
        const specials = Object.values(specialTokens);
        const within = (text: string) => specials.filter((token) => token !== '' && text.includes(token));
        if (within(assistantHeader).length + within(afterAnswer).length === 0)
          return notApplicable('a template with special tokens around an answer');
        const closes = (token: string) =>
          !assistantHeader.includes(token) || endIds.some((id) => specialTokens[id] === token);
        const ends = endIds.flatMap((id) => specialTokens[id] ?? []);
        const measured = { after: afterAnswer, ends: ends.join(', ') };
        return within(afterAnswer).some(closes) ? pass(measured) : warn(measured);
      },
      says: (m) =>
        say`The template puts ${quote(m.after)} between an answer and the next question, and no token that closes the answer, such as ${m.ends}: messages stay open, which a model that learnt from closed ones has never seen.`,
    }),
    stepCheck({
      code: 'B03.glued',
      title: 'Something parts a message from its role',
      stage: 'template',
      level: 1,
      rank: 3,
      threshold: 'no message that begins with a letter or a digit follows the name of its role directly',
      why: 'Seen in a template whose `{%- -%}` ate the line breaks behind the roles: the reward fell from 0.24 to 0.08.',
      remedy:
        'Render one conversation and print it with its line breaks: in Jinja a minus in a tag takes the white space beside it away. Where the text is right, it is the tokenizer that loses them: decode the ids of “a, line break, b”.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B05', 'B28', 'B30', 'H01'],
      settles: 'A conversation, rendered, beside one of the model’s own template.',
      proofs: ['TRL run'],
      needs: ['messages', 'promptTexts'],
      test({ messages, promptTexts }) {
        const begun = messages.map((prompt) =>
          (Array.isArray(prompt) ? prompt.filter(isMessage) : []).flatMap(({ role, content }) =>
            /^[\p{L}\p{N}]/u.test(content.trim()) ? [role + content.trim().slice(0, BEGINNING)] : [],
          ),
        );
        if (begun.every(({ length }) => length === 0))
          return notApplicable('messages that begin with a letter or a digit');
        const glued = begun.flatMap((own, prompt): Evidence[] => {
          const one = own.find((beginning) => promptTexts[prompt]!.includes(beginning));
          return one === undefined ? [] : [{ prompt, text: one }];
        });
        const measured = { prompts: messages.length, glued: glued.length, text: glued[0]?.text ?? '' };
        return glued.length > 0 ? warn(measured, glued) : pass(measured);
      },
      says: (m) =>
        say`In ${m.glued} of ${m.prompts} prompts a message follows the name of its role without anything between (${quote(m.text)}): the model has learnt a line break there, or a token.`,
    }),
    stepCheck({
      code: 'B03.indented',
      title: 'The template does not indent its turns',
      stage: 'template',
      level: 1,
      rank: 3,
      threshold:
        'no line of a prompt begins with two spaces or more before a special token that opens or closes an answer',
      why: 'Seen in a template that was written over several indented lines: the indentation is part of what it renders, and accuracy fell from 0.26 to 0.12.',
      remedy:
        'Write the template without indentation, or with `{%-` and `-%}` around its tags; print a rendered conversation with its white space.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B05', 'B28', 'B30', 'H01'],
      settles: 'A conversation, rendered, beside one of the model’s own template.',
      proofs: ['TRL run'],
      needs: ['tokenizer', 'assistantHeader', 'promptTexts'],
      test({ tokenizer, assistantHeader, promptTexts }, { prompts }) {
        const turns = turnTokens(tokenizer, assistantHeader + (prompts?.afterAnswer ?? ''));
        if (turns.length === 0) return notApplicable('special tokens that open or close an answer');
        const indented = promptTexts.flatMap((text, prompt): Evidence[] => {
          const line = text
            .split('\n')
            .find((one) => /^[ \t]{2}/.test(one) && turns.some((turn) => one.trimStart().startsWith(turn)));
          return line === undefined ? [] : [{ prompt, text: shorten(line) }];
        });
        const measured = { prompts: promptTexts.length, indented: indented.length };
        return indented.length > 0 ? warn(measured, indented) : pass(measured);
      },
      says: (m) =>
        say`In ${m.indented} of ${m.prompts} prompts a turn begins behind spaces at the start of its line: the template’s own indentation stands in the prompt, which the model has never seen.`,
    }),
    stepCheck({
      code: 'B03.blank',
      title: 'Completions are not blank',
      stage: 'generation',
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
