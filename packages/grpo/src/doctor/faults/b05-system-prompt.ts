import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { isMessage, type Said, turnTokens } from '../measures/conversation.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten, warn } from '../outcome.js';
import { quote, say } from '../sentence.js';

const CURRENT_DATE = /(Today Date|Current date|Today's date|Current time): *[^\n<]*\d[^\n<]*/i;

/** A character reference of HTML. */
const REFERENCE = /&(?:[a-z]{2,8}\d{0,2}|#\d{2,6}|#x[\da-f]{2,5});/i;

export const b05: Fault = {
  code: 'B05',
  name: 'system prompt',
  title: 'The system prompt is lost, or a date is injected',
  left: 'pre-flight',
  checks: [
    stepCheck({
      code: 'B05.system',
      title: 'The rendered prompt holds every message of its conversation',
      stage: 'template',
      level: 1,
      rank: 2,
      threshold: 'the rendered text contains at least half of the words of every system and user message',
      why: 'Seen in a run that lost its system prompt. A template that leaves a message out renders a different conversation.',
      remedy: 'Check what the template does with that role, and pass the whole conversation.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
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
      says: (m) =>
        say`${m.lost} of ${m.prompts} rendered prompts lack a message of their conversation: the template dropped it.`,
    }),
    stepCheck({
      code: 'B05.characters',
      title: 'The prompt’s ids spell all characters of its messages',
      stage: 'template',
      level: 1,
      rank: 1,
      threshold:
        'no message of system and user whose letters and digits all stand in the prompt has more of another character than the prompt has',
      why: 'Seen in a tokenizer whose normalizer took the minus for a hyphen: the model was asked “1 8=”.',
      remedy:
        'Look at the tokenizer’s normalizer and at its unknown token: decode the ids of one prompt and compare it with its message.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B05', 'B28', 'B30', 'H01'],
      settles: 'The ids of one prompt, decoded, beside its message.',
      proofs: ['TRL run'],
      needs: ['messages', 'promptTexts'],
      test({ messages, promptTexts }) {
        const told = messages.map((prompt) => saidIn(prompt));
        if (told.every((contents) => contents.length === 0)) return notApplicable('messages with text');
        const characters = new Set<string>();
        const lost = told.flatMap((contents, prompt): Evidence[] =>
          contents.flatMap(({ content }) => {
            const own = lostCharacters(content, promptTexts[prompt]!);
            for (const one of own) characters.add(one);
            return own.length > 0 ? [{ prompt, text: shorten(content) }] : [];
          }),
        );
        const measured = {
          prompts: messages.length,
          lost: lost.length,
          characters: [...characters].join(' '),
        };
        return lost.length > 0 ? warn(measured, lost) : pass(measured);
      },
      says: (m) =>
        say`${m.lost} messages of ${m.prompts} prompts lose ${quote(m.characters)} on the way to their ids: the template or the tokenizer replaces it, and the model is asked something else.`,
    }),
    stepCheck({
      code: 'B05.entities',
      title: 'Messages are text, not source of a page',
      stage: 'data',
      level: 1,
      rank: 3,
      threshold:
        'no message of system and user has a character reference of HTML, such as &minus; or &#39;, unless some have tags, too',
      why: 'Seen in rows that were taken from a page: each minus was “&minus;”, and the reward of these rows fell from 0.20 to 0.12.',
      remedy: 'Decode the text of the rows once (html.unescape in Python), answers too.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B28', 'B30'],
      settles: 'The messages of such a row, printed.',
      proofs: ['TRL run'],
      needs: ['messages'],
      test({ messages }) {
        const told = messages.map((prompt) => saidIn(prompt).map(({ content }) => content));
        if (told.every((contents) => contents.length === 0)) return notApplicable('messages with text');
        const isPage = told.flat().some((content) => /<\/?[a-z][^<>]*>/i.test(content));
        const found = told.flatMap((contents, prompt): Evidence[] => {
          const content = contents.find((one) => REFERENCE.test(one));
          return content === undefined ? [] : [{ prompt, text: shorten(content) }];
        });
        const measured = {
          prompts: messages.length,
          found: found.length,
          reference: REFERENCE.exec(told.flat().join('\n'))?.[0] ?? '',
        };
        return found.length > 0 && !isPage ? warn(measured, found) : pass(measured);
      },
      says: (m) =>
        say`${m.found} of ${m.prompts} prompts have ${quote(m.reference)} in a message, which is how HTML writes a character: the model reads it as it stands.`,
    }),
    stepCheck({
      code: 'B05.rendered',
      title: 'Messages have no turns of the template in them',
      stage: 'data',
      level: 1,
      rank: 3,
      threshold:
        'no message of system and user has a special token in it that the template opens or closes an answer with',
      why: 'Seen in rows whose message was a whole conversation that had been rendered already: the template put its own turns around those.',
      remedy:
        'Give the messages as they are, a role and its text each, and let the trainer apply the template once.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B05', 'B28', 'B30', 'H01'],
      settles: 'The messages of such a row, printed.',
      proofs: ['TRL run'],
      needs: ['messages', 'tokenizer', 'assistantHeader'],
      test({ messages, tokenizer, assistantHeader }, { prompts }) {
        const turns = turnTokens(tokenizer, assistantHeader + (prompts?.afterAnswer ?? ''));
        if (turns.length === 0) return notApplicable('special tokens that open or close an answer');
        const rendered = messages.flatMap((prompt, i): Evidence[] => {
          const one = saidIn(prompt).find(({ content }) => turns.some((token) => content.includes(token)));
          return one ? [{ prompt: i, text: shorten(one.content) }] : [];
        });
        const token = turns.find((turn) => JSON.stringify(messages).includes(turn)) ?? '';
        const measured = { prompts: messages.length, rendered: rendered.length, token };
        return rendered.length > 0 ? warn(measured, rendered) : pass(measured);
      },
      says: (m) =>
        say`In ${m.rendered} of ${m.prompts} prompts a message has ${quote(m.token)} in it, a token of the template’s own turns: it was rendered before, and is rendered again.`,
    }),
    stepCheck({
      code: 'B05.date',
      title: 'The template puts no date into the prompt',
      stage: 'template',
      level: 1,
      rank: 2,
      threshold: 'no line with a current date, unless the messages contain the line',
      why: 'Seen in a template that wrote “Today Date” into an otherwise empty system block.',
      remedy: 'Pass a fixed date to the template, or write a system message of your own.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Render the same prompt with the clock set to another day: the ids must be equal.',
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
      says: (m) =>
        say`The template writes a date into ${m.dated} of ${m.prompts} prompts (${quote(m.line)}): the token ids change from day to day.`,
    }),
  ],
};

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
  return words.filter((word) => text.includes(word)).length < words.length / 2 && !spells(content, text);
}

/** Whether a text has all letters and digits of a content in their order. */
const spells = (content: string, text: string): boolean => bare(text).includes(bare(content));
const bare = (text: string) =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');

/** The characters of a content that a text has fewer of, though all its letters and digits are there. */
function lostCharacters(content: string, text: string): string[] {
  if (text.includes(content.trim())) return [];
  const [own, found] = [content, text].map((one) => one.normalize('NFKC').toLowerCase());
  if (bare(content) === '' || !spells(content, text)) return [];
  const count = (all: string, character: string) => all.split(character).length;
  return [...new Set(own)].filter((one) => one.trim() !== '' && count(found!, one) < count(own!, one));
}
