import { UserError } from '../errors/user-error.js';
import type { Message } from '../text/message.js';
import type { Renderer } from './check.js';

/** The texts that a chat template puts around the words of a conversation. */
export interface TemplateShape {
  /** Around a system message: before its words, and from there to the user's. Absent where the template refuses one. */
  system?: { head: string; between: string };
  /** Before a user's words, where there is no system message. */
  userHead: string;
  /** After a user's words: the end of the turn. */
  userEnd: string;
  /** The assistant's header, which opens the answer; empty where the template has none. */
  header: string;
  /** Between the header and an answer that is part of the conversation; absent where the header is another one there. */
  beforeAnswer?: string;
  /** After an answer. */
  answerEnd: string;
}

/** Private-use characters that no conversation has. */
const [FIRST, SECOND] = ['\u{f0000}', '\u{f0001}'];

/**
 * Finds the texts by rendering marks in place of words.
 *
 * @param now - the time that the template tells
 * @returns undefined where there is no template, or where it does not show a user's words as they are
 */
export function shapeOf({ template, tokenizer }: Renderer, now?: Date): TemplateShape | undefined {
  const around = (messages: readonly Message[], addGenerationPrompt: boolean): string[] | undefined => {
    try {
      return template
        ?.render(messages, { addGenerationPrompt, namedTokens: tokenizer.namedTokens, ...(now && { now }) })
        .split(/[\u{f0000}\u{f0001}]/u);
    } catch (error) {
      // A template may refuse a role, which is part of its shape.
      if (error instanceof UserError) return undefined;
      throw error;
    }
  };
  const user: Message = { role: 'user', content: FIRST! };
  const [userHead, open] = around([user], true) ?? [];
  const [, userEnd] = around([user], false) ?? [];
  if (open === undefined || userEnd === undefined) return undefined;
  const header = open.startsWith(userEnd) ? open.slice(userEnd.length) : '';
  const system = around(
    [
      { role: 'system', content: FIRST! },
      { role: 'user', content: SECOND! },
    ],
    true,
  );
  const [, middle, answerEnd = ''] = around([user, { role: 'assistant', content: SECOND! }], false) ?? [];
  return {
    ...(system?.length === 3 && { system: { head: system[0]!, between: system[1]! } }),
    userHead: userHead!,
    userEnd,
    header,
    ...(middle?.startsWith(open) && { beforeAnswer: middle.slice(open.length) }),
    answerEnd,
  };
}

/** What a prompt's system turn holds: the words given, none of them, nothing given, words of the template, or there is no turn. */
export type SystemTurn = 'yes' | 'LOST' | 'EMPTY' | 'OWN' | '–';

/** The system turn of a rendered conversation. */
export function systemTurn(
  { system, userHead }: TemplateShape,
  text: string,
  messages: readonly Message[],
): SystemTurn {
  const words = messages.find(({ role }) => role === 'system')?.content.trim() ?? '';
  if (words !== '') return text.includes(words) ? 'yes' : 'LOST';
  // A template that writes the system message into the user's turn has no turn for it.
  if (!system || system.head === userHead) return '–';
  // Some write white space around the words only where there are some.
  const [, rest] = text.split(system.head.trimEnd(), 2);
  if (rest === undefined) return '–';
  return rest.trimStart().startsWith(system.between.trimStart()) ? 'EMPTY' : 'OWN';
}

/** Lines of a system turn that the template itself writes, without tokens and header. */
export function ownWords(model: Renderer, { system, userHead }: TemplateShape, turn: SystemTurn): string {
  const written = turn === 'OWN' ? userHead : (system?.head ?? '');
  const lines = withoutSpecialTokens(model, written, '\n')
    .split('\n')
    .filter((line) => line.trim() !== '');
  return lines.filter((line) => !/^\s*(system|user)\s*$/.test(line)).join(' · ');
}

/** A text with something else in place of each special token. */
export const withoutSpecialTokens = ({ tokenizer }: Renderer, text: string, instead: string): string =>
  Object.values(tokenizer.specialTokens).reduce((rest, token) => rest.split(token).join(instead), text);

export const hasSpecialToken = ({ tokenizer }: Renderer, text: string): boolean =>
  Object.values(tokenizer.specialTokens).some((token) => text.includes(token));
