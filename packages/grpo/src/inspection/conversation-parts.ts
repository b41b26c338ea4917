import type { Message } from '../text/message.js';
import type { TemplateShape } from './template-shape.js';

/** A rendered conversation, taken apart again. */
interface ConversationParts {
  system: string | undefined;
  user: string;
  /** What follows the user's turn: the assistant's header, or what somebody wrote in its place. */
  tail: string;
}

/** A day, written with a number and a month or with numbers only. */
export const DAY = /\d{1,4}([ ./-])(\d{1,2}|[A-Z][a-z]{2,8})\1\d{1,4}|[A-Z][a-z]{2,8} \d{1,2}, \d{4}/g;

/**
 * Takes a text apart that a template made of one question, with or without a system message.
 *
 * @param text - without a BOS in front
 * @returns undefined where the text is not of this template
 */
export function partsOf(shape: TemplateShape, text: string): ConversationParts | undefined {
  const { system, userHead, userEnd } = shape;
  const end = userEnd.trimEnd() || shape.header.trimEnd();
  if (end === '') return undefined;
  const open = text.match(pattern(userHead, '(?<user>.*?)', end, '(?<tail>.*)'));
  if (open) return { system: undefined, user: open.groups!.user!, tail: open.groups!.tail! };
  if (!system) return undefined;
  const whole = text.match(
    pattern(system.head, '(?<system>.*?)', system.between, '(?<user>.*?)', end, '(?<tail>.*)'),
  );
  if (!whole) return undefined;
  return { system: whole.groups!.system!, user: whole.groups!.user!, tail: whole.groups!.tail! };
}

/** Whether more turns follow the user's. */
export const hasMoreTurns = ({ userEnd }: TemplateShape, { tail }: ConversationParts): boolean =>
  userEnd.trim() !== '' && tail.includes(userEnd.trim());

/** The conversation that the parts were rendered from. */
export const messagesOf = ({ system, user }: ConversationParts): Message[] => [
  ...(system === undefined ? [] : [{ role: 'system' as const, content: system }]),
  { role: 'user', content: user },
];

/** A text with the BOS in front that is part of a template's shape. */
export const withTemplateBos = ({ userHead }: TemplateShape, bos: string | undefined, text: string) =>
  bos !== undefined && userHead.startsWith(bos) ? bos + text : text;

/** Texts by their letters, any day for a day; groups as they are. */
function pattern(...parts: readonly string[]): RegExp {
  const source = parts.map((part) => (part.startsWith('(?<') ? part : escaped(part)));
  return new RegExp(`^\\s*${source.join('')}$`, 'su');
}

const escaped = (text: string) =>
  text
    .replace(DAY, '\u{f0000}')
    .replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
    .replaceAll('\u{f0000}', '[^\\n]{6,20}');
