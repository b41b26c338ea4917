import type { Tokenizer } from '../text/tokenizer.js';

/** What a template is filled by. */
type InstructionTokenizer = Pick<Tokenizer, 'encode' | 'eosId'>;

const PLACES = /\{(instruction|response)\}/g;

/**
 * Ids of a template with `{instruction}` and `{response}` filled in: a BOS where the tokenizer adds one, and the end token
 * last.
 *
 * @throws TypeError when the template lacks a place, or the tokenizer an end token
 */
export function instructionIds(
  where: string,
  { tokenizer, template }: { tokenizer: InstructionTokenizer; template: string },
  instruction: string,
  response: string,
): number[] {
  const missing = ['{instruction}', '{response}'].find((place) => !template.includes(place));
  if (missing) throw new TypeError(`${where}: the template has no ${missing}`);
  if (tokenizer.eosId === undefined)
    throw new TypeError(`${where}: the tokenizer has no eos_token to end a text with`);
  // In one pass, so that a prompt which speaks of {response} stays as it is.
  const text = template.replace(PLACES, (place) => (place === '{response}' ? response : instruction));
  return [...tokenizer.encode(text, { specialTokens: true }), tokenizer.eosId];
}
