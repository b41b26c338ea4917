import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { FormatError } from '../errors/format-error.js';
import { excerpt } from '../errors/printable.js';
import { isObject } from '../formats/json.js';
import type { TokenizerFiles } from './tokenizer-files.js';

/** The part of the library that we use; its own types do not resolve in ES modules and would be `any`. */
export interface Engine {
  readonly pre_tokenizer: PreTokenizer | null;
  readonly added_tokens: { content: string; lstrip: boolean; rstrip: boolean }[];
  readonly added_tokens_map: ReadonlyMap<string, { content: string }>;
  readonly splitter_unnormalized: Splitter;
  readonly splitter_normalized: Splitter;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: number[] };
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
}

/** A sequence has others within; `ByteLevel` has `use_regex`. */
interface PreTokenizer {
  readonly config?: { type: string; individual_digits?: boolean };
  readonly tokenizers?: (PreTokenizer | null)[];
  readonly use_regex?: boolean;
  pattern?: RegExp;
}

/** Cuts added tokens out of a text. */
interface Splitter {
  split(text: string): string[];
}

/** The parts that are compared with the Rust library; another one may load and tokenize otherwise. */
const COMPARED = new Set(['NFC', 'ByteLevel', 'Split', 'Digits', 'Sequence']);

/**
 * The library's tokenizer, mended where it is known to differ from the Rust library.
 * @throws FormatError for a part that is not compared with it.
 */
export function buildEngine({ file, raw }: TokenizerFiles): Engine {
  for (const part of [raw.normalizer, raw.pre_tokenizer]) refuseUncompared(file, part);
  // The library would only read settings that the Rust library never sees.
  const engine: Engine = new HuggingFaceTokenizer(raw, {});
  mendPatterns(engine.pre_tokenizer);
  mendStripping(engine);
  return engine;
}

function refuseUncompared(file: string, part: unknown): void {
  if (!isObject(part)) return;
  for (const inner of [part.normalizers, part.pretokenizers].flat()) refuseUncompared(file, inner);
  const { type, behavior } = part;
  const way = type === 'Split' && behavior !== 'Isolated' && behavior !== 'Removed';
  if (!way && COMPARED.has(String(type))) return;
  const found = `${excerpt(String(type))}${way ? ` with the behavior ${excerpt(String(behavior))}` : ''}`;
  throw new FormatError(
    file,
    `the part ${found} is not supported; supported are the normalizer NFC and the pre-tokenizers ByteLevel, Split (Isolated, Removed) and Digits, as GPT-2, Llama 3 and Qwen have them`,
  );
}

/**
 * `ByteLevel` uses JavaScript's `\s`, which has U+FEFF and lacks U+0085; the Rust library's is Unicode's White_Space.
 * `Digits` knows 0 to 9 only; the Rust library's has all numbers.
 */
function mendPatterns(part: PreTokenizer | null): void {
  part?.tokenizers?.forEach(mendPatterns);
  if (part?.use_regex && part.pattern) {
    const { source, flags } = part.pattern;
    const mended = source.replaceAll('\\s', '\\p{White_Space}').replaceAll('\\S', '\\P{White_Space}');
    part.pattern = new RegExp(mended, flags);
  } else if (part?.config?.type === 'Digits') {
    part.pattern = part.config.individual_digits ? /\P{N}+|\p{N}/gu : /\P{N}+|\p{N}+/gu;
  }
}

/** An added token may take the white space beside it; the engine again takes JavaScript's for it. */
function mendStripping(engine: Engine): void {
  const flags = new Map(
    engine.added_tokens.map(({ content, lstrip, rstrip }) => [content, { lstrip, rstrip }]),
  );
  for (const token of engine.added_tokens) Object.assign(token, { lstrip: false, rstrip: false });
  for (const splitter of [engine.splitter_unnormalized, engine.splitter_normalized]) {
    const split = splitter.split.bind(splitter);
    splitter.split = (text) => {
      const sections = split(text);
      for (const [i, section] of sections.entries()) {
        const token = engine.added_tokens_map.get(section);
        const { lstrip, rstrip } = (token && flags.get(token.content)) ?? {};
        if (lstrip && i > 0) sections[i - 1] = sections[i - 1]!.replace(/\p{White_Space}+$/u, '');
        if (rstrip && i + 1 < sections.length)
          sections[i + 1] = sections[i + 1]!.replace(/^\p{White_Space}+/u, '');
      }
      return sections;
    };
  }
}
