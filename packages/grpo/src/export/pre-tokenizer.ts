import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { TokenizerDefinition } from '../text/tokenizer-definition.js';
import type { TokenizerFiles } from '../text/tokenizer-files.js';
import type { BpeModel } from '../text/tokenizer-model.js';
import type { PreTokenizer } from '../text/tokenizer-parts.js';

/** GPT-2's own pattern, which `ByteLevel` stands for. */
const GPT2 = 'ByteLevel';
const SINGLE_DIGITS = 'Digits, ByteLevel';

/** Contractions, words with the sign in front, numbers, other signs, line breaks, white space. */
const words = (numbers: string) =>
  `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

/** The same, and a capital begins a word. */
function casedWords(contraction: string, numbers: string): string {
  const [capital, small] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
  const word = (letters: string) => `[^\\r\\n\\p{L}\\p{N}]?${letters}${contraction}`;
  return `${word(`${capital}*${small}+`)}|${word(`${capital}+${small}*`)}|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
}

const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";

/** llama.cpp's names of how words are cut, each with whether a word of the vocabulary is a token whatever the merges say. */
const KNOWN: readonly { pre: string; cut: string; ignoreMerges: boolean }[] = [
  { pre: 'gpt-2', cut: GPT2, ignoreMerges: false },
  { pre: 'smollm', cut: SINGLE_DIGITS, ignoreMerges: false },
  { pre: 'llama-bpe', cut: words('\\p{N}{1,3}'), ignoreMerges: true },
  { pre: 'dbrx', cut: words('\\p{N}{1,3}'), ignoreMerges: false },
  { pre: 'qwen2', cut: words('\\p{N}'), ignoreMerges: false },
  { pre: 'gpt-4o', cut: casedWords(CONTRACTION, '\\p{N}{1,3}'), ignoreMerges: false },
  { pre: 'tekken', cut: casedWords('', '\\p{N}'), ignoreMerges: true },
];

/**
 * `tokenizer.ggml.pre` of a byte-level BPE tokenizer: how llama.cpp cuts text into words before it merges.
 *
 * @throws UserError: llama.cpp has no name for the way that this tokenizer cuts. It would take a default one, and give
 * other ids.
 */
export function preTokenizerName({ file, definition }: TokenizerFiles, model: BpeModel): string {
  // Where nothing is merged, any cut gives the same bytes.
  if (model.merges.length === 0 && !model.ignore_merges) return 'qwen2';
  const cut = cutOf(definition.pre_tokenizer);
  const known = KNOWN.filter((one) => one.cut === cut);
  const found = known.find(({ ignoreMerges }) => ignoreMerges === model.ignore_merges);
  // Where merges lead to every token, it makes no difference whether a word is looked up before.
  if (found ?? (known.length > 0 && mergesReachAll(definition, model))) return (found ?? known[0]!).pre;
  const way = cut === undefined ? JSON.stringify(definition.pre_tokenizer) : cut;
  throw new UserError(
    `${file}: llama.cpp has no name for how this tokenizer cuts text into words, so its ids would be others: ${excerpt(way)}, ignore_merges: ${model.ignore_merges}`,
    { hint: `Known are those of GPT-2, Llama 3, Qwen 2, SmolLM, GPT-4o and Tekken.` },
  );
}

/** The cut in one text; undefined where it is another one than those of {@link KNOWN} could be. */
function cutOf(parts: readonly PreTokenizer[]): string | undefined {
  const last = parts.at(-1);
  if (last?.type !== 'ByteLevel' || last.add_prefix_space) return undefined;
  const [first, ...more] = parts.slice(0, -1);
  if (more.length > 0) return undefined;
  if (!first) return last.use_regex ? GPT2 : undefined;
  if (first.type === 'Digits') return first.individual_digits && last.use_regex ? SINGLE_DIGITS : undefined;
  if (first.type !== 'Split' || last.use_regex || !('Regex' in first.pattern)) return undefined;
  // What stands between the matches is kept, or, said the other way round, removed; nothing does.
  const keepsMatches = first.behavior === (first.invert ? 'Removed' : 'Isolated');
  return keepsMatches ? first.pattern.Regex : undefined;
}

/** Whether the merges of each token's characters end in that token. */
function mergesReachAll({ added_tokens }: TokenizerDefinition, { vocab, merges }: BpeModel): boolean {
  const ranks = new Map(merges.map((pair, rank) => [pair.join(' '), rank]));
  const matched = new Set(added_tokens.map(({ content }) => content));
  return Object.keys(vocab).every((token) => matched.has(token) || mergedOf(token, ranks).length === 1);
}

/** A word after all merges. */
function mergedOf(word: string, ranks: ReadonlyMap<string, number>): string[] {
  let parts = [...word];
  while (parts.length > 1) {
    const pairs = parts.slice(1).map((right, i) => ranks.get(`${parts[i]} ${right}`) ?? Infinity);
    const first = pairs.indexOf(Math.min(...pairs));
    if (pairs[first] === Infinity) break;
    parts = [...parts.slice(0, first), parts[first]! + parts[first + 1]!, ...parts.slice(first + 2)];
  }
  return parts;
}
