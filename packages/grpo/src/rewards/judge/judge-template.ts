/** The judge's prompt: a text with places for the prompt, the completion and the row. */
import { UserError } from '../../errors/user-error.js';
import { isObject } from '../../formats/json.js';
import type { Prompt } from '../../text/message.js';
import { Reason } from '../describe-error.js';

/** Everything else in braces is text: a prompt that shows JSON needs no escapes. */
const PLACE = /\{(prompt|completions?|row\.([^{}\s]+))\}/g;

/** Values for the places. */
export interface TemplateFields {
  prompt: Prompt;
  row: unknown;
  /** The completion; of a ranking all of them, numbered. */
  judged: string;
}

/** Fills the places. @throws Reason for a field that the row lacks */
export type JudgeTemplate = (shown: TemplateFields) => string;

/**
 * Reads a template, in which each place is filled once: braces in a completion are text.
 *
 * @param what - its source, for messages
 * @throws UserError when it lacks the place of `ask`, `{completion}` or `{completions}`, or has that of the other
 */
export function judgeTemplate(what: string, text: string, ask: 'score' | 'ranking'): JudgeTemplate {
  const own = ask === 'score' ? 'completion' : 'completions';
  const other = ask === 'score' ? 'completions' : 'completion';
  const names = new Set([...text.matchAll(PLACE)].map(([, name]) => name));
  if (!names.has(own)) {
    throw new UserError(`${what} has no {${own}}: the judge would not see what it judges`, {
      hint: `Write {${own}} where ${ask === 'score' ? 'the completion goes' : 'the numbered completions go'}; {prompt} is what was asked.`,
    });
  }
  if (names.has(other)) throw new UserError(`${what} has {${other}}; with ask=${ask} it must be {${own}}`);
  return ({ prompt, row, judged }) =>
    text.replaceAll(PLACE, (_, name: string, field: string | undefined) => {
      if (field !== undefined) return fieldOf(row, field);
      return name === 'prompt' ? promptText(prompt) : judged;
    });
}

function fieldOf(row: unknown, field: string): string {
  const value: unknown = isObject(row) && Object.hasOwn(row, field) ? row[field] : undefined;
  if (value === undefined) {
    const fields = isObject(row) ? Object.keys(row).join(', ') : '';
    throw new Reason(`the judge's prompt has {row.${field}}, the row has ${fields || 'no fields'}`);
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A prompt as one text; a conversation with who speaks. */
export function promptText(prompt: Prompt): string {
  if (typeof prompt === 'string') return prompt;
  return prompt.map(({ role, content }) => `${role}: ${content}`).join('\n\n');
}

/**
 * Completions for a ranking, numbered from 1.
 *
 * @param mark - stands in each border, and is in none of the texts: a completion cannot pretend to be two
 */
export function numberTexts(texts: readonly string[], mark: string): string {
  return texts.map((text, i) => `<<<${i + 1} ${mark}>>>\n${text}\n<<<end ${mark}>>>`).join('\n\n');
}
