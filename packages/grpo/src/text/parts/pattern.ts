import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';

/** What a part of a tokenizer looks for: a text, or a regular expression in the dialect of Oniguruma. */
export type Pattern = { String: string } | { Regex: string };

/** A tokenizer around the pattern that is to be translated. */
const AROUND = {
  model: { type: 'BPE', vocab: {}, merges: [] },
  normalizer: null,
  post_processor: null,
  decoder: null,
  added_tokens: [],
};

/** A pattern as a global regular expression. @throws SyntaxError for one that JavaScript cannot express */
export function regExpOf(pattern: Pattern): RegExp {
  if ('String' in pattern) return new RegExp(pattern.String.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'), 'gu');
  // The library's own types do not resolve in ES modules.
  const { pre_tokenizer }: { pre_tokenizer: { pattern: RegExp } } = new HuggingFaceTokenizer(
    { ...AROUND, pre_tokenizer: { type: 'Split', pattern, invert: true } },
    {},
  );
  return pre_tokenizer.pattern;
}
