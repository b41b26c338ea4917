import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { isMessage, type Said } from '../measures/conversation.js';
import { type Evidence, fail, inform, notApplicable, pass, shorten } from '../outcome.js';
import { quote, say } from '../sentence.js';

const CURRENT_DATE = /(Today Date|Current date|Today's date|Current time): *[^\n<]*\d[^\n<]*/i;

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
      kind: 'identity',
      level: 1,
      rank: 2,
      threshold: 'the rendered text contains at least half of the words of every system and user message',
      sources: [],
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
      code: 'B05.date',
      title: 'The template puts no date into the prompt',
      stage: 'template',
      kind: 'heuristic',
      level: 1,
      rank: 2,
      threshold: 'no line with a current date, unless the messages contain the line',
      sources: [],
      why: 'Seen in a template that wrote “Today Date” into an otherwise empty system block.',
      remedy: 'Pass a fixed date to the template, or write a system message of your own.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Render the same prompt with the clock set to another day: the ids must be equal.',
      proofs: [],
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
  return words.filter((word) => text.includes(word)).length < words.length / 2;
}
