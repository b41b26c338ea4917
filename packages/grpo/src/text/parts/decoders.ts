import { byteAlphabet } from '../byte-alphabet.js';
import type { Decoder } from '../tokenizer-parts.js';
import { byteOf } from './byte-tokens.js';
import { regExpOf } from './pattern.js';

const BYTE_OF = new Map(byteAlphabet().map((char, byte) => [char, byte]));

/** Turns tokens into text. */
export interface TokenDecoder {
  /**
   * The text of tokens.
   * @param isInside whether text stands in front of it: then nothing is taken from its front
   */
  text(tokens: readonly string[], isInside: boolean): string;
  /** The bytes that a token stands for within a text. */
  bytes(token: string): Buffer;
  /** Whether a token is one byte of a character: its neighbours decide what text it is. */
  isByte(token: string): boolean;
  /** Whether each character of a token stands for a byte. */
  readonly isByteLevel: boolean;
}

/** @throws SyntaxError for a pattern that JavaScript cannot express */
export function decoderOf(parts: readonly Decoder[]): TokenDecoder {
  const steps = parts.map(stepOf);
  const fuse = parts.findIndex(({ type }) => type === 'Fuse');
  // What stands behind the fusing sees a whole text, and takes something from its ends.
  const within = fuse < 0 ? steps : steps.slice(0, fuse);
  const isByteLevel = parts.some(({ type }) => type === 'ByteLevel');
  const fallsBack = parts.some(({ type }) => type === 'ByteFallback');
  const run = (chain: typeof steps, tokens: readonly string[], isInside: boolean) =>
    chain.reduce((texts, step) => step(texts, isInside), tokens);
  return {
    isByteLevel,
    isByte: (token) => fallsBack && byteOf(token) !== undefined,
    text: (tokens, isInside) => run(isInside ? within : steps, tokens, isInside).join(''),
    bytes: (token) => {
      if (isByteLevel) return alphabetBytes(token);
      const byte = fallsBack ? byteOf(token) : undefined;
      return byte === undefined ? Buffer.from(run(within, [token], true).join('')) : Buffer.from([byte]);
    },
  };
}

type Step = (tokens: readonly string[], isInside: boolean) => readonly string[];

function stepOf(part: Decoder): Step {
  switch (part.type) {
    case 'ByteLevel':
      return (tokens) => [utf8(Buffer.concat(tokens.map(alphabetBytes)))];
    case 'ByteFallback':
      return withBytes;
    case 'Fuse':
      return (tokens) => [tokens.join('')];
    case 'Replace': {
      const pattern = regExpOf(part.pattern);
      return (tokens) => tokens.map((token) => token.replace(pattern, () => part.content));
    }
    case 'Strip': {
      const { content, start } = part;
      if (start === 0) return (tokens) => tokens;
      return (tokens) =>
        tokens.map((token) => (token.startsWith(content) ? token.slice(content.length) : token));
    }
    case 'Metaspace': {
      const { replacement, prepend_scheme } = part;
      // The first token loses every mark, whoever put it there.
      const first = prepend_scheme === 'never' ? ' ' : '';
      return (tokens, isInside) =>
        tokens.map((token, i) => token.replaceAll(replacement, i === 0 && !isInside ? first : ' '));
    }
  }
}

/**
 * In byte-level BPE each character of a token stands for one byte; a token with any other character is as it is.
 */
function alphabetBytes(token: string): Buffer {
  const bytes = Array.from(token, (char) => BYTE_OF.get(char) ?? -1);
  return bytes.includes(-1) ? Buffer.from(token) : Buffer.from(bytes);
}

/** Runs of tokens like `<0xE2>` become text. In a run that is no UTF-8 each byte is a U+FFFD, as in the Rust library. */
function withBytes(tokens: readonly string[]): string[] {
  const texts: string[] = [];
  let run: number[] = [];
  const flush = () => {
    if (run.length > 0) texts.push(runText(run));
    run = [];
  };
  for (const token of tokens) {
    const byte = byteOf(token);
    if (byte !== undefined) run.push(byte);
    else {
      flush();
      texts.push(token);
    }
  }
  flush();
  return texts;
}

function runText(run: readonly number[]): string {
  try {
    return new TextDecoder('utf-8', { ignoreBOM: true, fatal: true }).decode(Uint8Array.from(run));
  } catch {
    return '\ufffd'.repeat(run.length);
  }
}

/** Bytes that are not UTF-8 become U+FFFD; a BOM is text like any other. */
const utf8 = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
