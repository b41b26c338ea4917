import type { Message, Role } from './message.js';
import type { Tokenizer } from './tokenizer.js';

/** A range `[start, end)` of tokens. */
export interface Span {
  /**
   * `prompt`: all that the model is given · `message`: the content of one message, without its header ·
   * `generation`: the header that opens the assistant's turn · `completion`: the model's answer, end token
   * included.
   */
  kind: 'prompt' | 'message' | 'generation' | 'completion';
  role?: Role;
  /** Place of the message, from 0. */
  index?: number;
  start: number;
  end: number;
}

/** A range `[start, end)` of UTF-16 units of a text. */
export interface CharRange {
  start: number;
  end: number;
}

/**
 * Where each message's content stands in the rendered text. Each content is replaced in turn by a mark: what
 * stays the same around it shows the place. A message that the template drops, rewrites, uses twice or lets decide
 * over other parts is left out.
 * @param text `render(messages)`.
 */
export function contentRanges(
  text: string,
  messages: readonly Message[],
  render: (messages: readonly Message[]) => string,
): Map<number, CharRange> {
  // A private-use character that no message has.
  let code = 0xf0000;
  while (text.includes(String.fromCodePoint(code))) code++;
  const mark = String.fromCodePoint(code);

  const ranges = new Map<number, CharRange>();
  for (const [i, message] of messages.entries()) {
    const [before, after, twice] = split(() => render(messages.with(i, { ...message, content: mark })), mark);
    if (before === undefined || after === undefined || twice !== undefined) continue;
    const range = { start: before.length, end: text.length - after.length };
    const content = text.slice(range.start, range.end);
    const found = range.start < range.end && message.content.includes(content);
    if (found && text.startsWith(before) && text.endsWith(after)) ranges.set(i, range);
  }
  return ranges;
}

function split(render: () => string, mark: string): string[] {
  try {
    return render().split(mark);
  } catch {
    // The conversation itself was rendered: this template only refuses the mark, so the place cannot be told.
    return [];
  }
}

/**
 * Turns character ranges of a text into token ranges.
 * @returns undefined when the tokens do not spell the text exactly (a normalizer changed it), so that no range
 * could be exact; otherwise a function that gives the smallest range of tokens which covers the characters.
 */
export function tokenRanges(
  tokenizer: Tokenizer,
  text: string,
  ids: readonly number[],
): ((range: CharRange) => { start: number; end: number }) | undefined {
  const ends = tokenEnds(tokenizer, Buffer.from(text), ids);
  if (ends === undefined) return undefined;

  // The token that holds a byte: the first one that ends after it.
  const holding = (byte: number) => ends.findIndex((end) => end > byte);
  return ({ start, end }) => ({
    start: holding(Buffer.byteLength(text.slice(0, start))),
    end: holding(Buffer.byteLength(text.slice(0, end)) - 1) + 1,
  });
}

/**
 * The byte of the text at which each token ends. Tokenizers of SentencePiece's kind put a space in front of a text, and many
 * behind each added token; such a space is in the tokens and not in the text.
 */
function tokenEnds(tokenizer: Tokenizer, text: Buffer, ids: readonly number[]): number[] | undefined {
  const ends: number[] = [];
  const stands = (bytes: Buffer, at: number) =>
    bytes.equals(text.subarray(at, at + bytes.length)) && at + bytes.length <= text.length;
  let at = 0;
  for (let i = 0; i < ids.length; ) {
    // Added tokens, each alone, and what stands between two of them.
    const isAdded = tokenizer.isAdded(ids[i]!);
    let next = i + 1;
    while (!isAdded && next < ids.length && !tokenizer.isAdded(ids[next]!)) next++;
    const pieces = ids.slice(i, next).map((id) => tokenizer.bytesOf(id));
    const bytes = Buffer.concat(pieces);
    const follows = (at: number) =>
      isAdded || (next < ids.length ? stands(tokenizer.bytesOf(ids[next]!), at) : at === text.length);
    const fits = (section: Buffer) => stands(section, at) && follows(at + section.length);
    const put = fits(bytes) ? 0 : bytes[0] === SPACE && fits(bytes.subarray(1)) ? 1 : undefined;
    if (put === undefined) return undefined;
    let end = at - put;
    for (const { length } of pieces) {
      end += length;
      ends.push(end);
    }
    at = end;
    i = next;
  }
  return at === text.length ? ends : undefined;
}

const SPACE = 0x20;
