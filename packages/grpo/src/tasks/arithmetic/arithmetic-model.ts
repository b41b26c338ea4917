/**
 * The files of a tiny model, apart from its weights: a tokenizer of single bytes, and a configuration of Qwen 2, GPT-2, or
 * of a masked-diffusion model with Qwen 2's layers.
 * Any loader of Hugging Face folders reads them.
 */
import { join } from 'node:path';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import { makeFolder } from '../../formats/make-folder.js';
import { byteAlphabet } from '../../text/byte-alphabet.js';

/** Tokens that end or fill a sequence: no text of a completion. */
const SPECIAL = ['<pad>', '<eos>'];
/** Tags are one token each, but text like any other: they stay when completions are decoded. */
const TAGS = ['<think>', '</think>', '<answer>', '</answer>'];
const VOCABULARY = [...SPECIAL, ...TAGS, ...byteAlphabet()];
const PAD = VOCABULARY.indexOf('<pad>');
const EOS = VOCABULARY.indexOf('<eos>');
/** Stands at a hidden place: the last token of a masked-diffusion model. */
const MASK = '<|mask|>';

const isMasked = ({ family }: TinyModelSize) => family === 'a2d-qwen2';

const vocabularyOf = (size: TinyModelSize) => (isMasked(size) ? [...VOCABULARY, MASK] : VOCABULARY);

/** Kind and size of the decoder. */
export interface TinyModelSize {
  /** `a2d-qwen2` is a masked-diffusion model. */
  family: 'qwen2' | 'gpt2' | 'a2d-qwen2';
  hiddenSize: number;
  layers: number;
  /** Divides `hiddenSize`. */
  heads: number;
  /** Inner width of the feed-forward blocks. */
  intermediateSize: number;
  /** Longest prompt and completion together, in tokens. */
  maxLength: number;
}

/** About 0.4 million parameters. */
export const TINY_MODEL: TinyModelSize = {
  family: 'qwen2',
  hiddenSize: 128,
  layers: 2,
  heads: 8,
  intermediateSize: 256,
  maxLength: 128,
};

/** Writes `tokenizer.json`, `tokenizer_config.json`, `config.json` and `generation_config.json` into a folder. */
export async function writeArithmeticModelFiles(
  dir: string,
  options: Partial<TinyModelSize> = {},
): Promise<void> {
  const size = { ...TINY_MODEL, ...options };
  makeFolder(dir);
  const files = {
    'tokenizer.json': tokenizer(vocabularyOf(size)),
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: '<eos>',
      pad_token: '<pad>',
      ...(isMasked(size) && { mask_token: MASK }),
      // Never used, but transformers would add one of its own beyond the vocabulary.
      unk_token: '<pad>',
      clean_up_tokenization_spaces: false,
    },
    'config.json': decoderConfig(size),
    'generation_config.json': { eos_token_id: [EOS], pad_token_id: PAD },
  };
  for (const [name, content] of Object.entries(files)) {
    writeFileAtomic(join(dir, name), `${JSON.stringify(content, null, 2)}\n`);
  }
}

/** Byte-level BPE without merges: every byte of text is a token. */
function tokenizer(vocabulary: readonly string[]): object {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [...SPECIAL, ...TAGS, MASK]
      .filter((content) => vocabulary.includes(content))
      .map((content) => ({
        id: vocabulary.indexOf(content),
        content,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
        special: !TAGS.includes(content),
      })),
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [],
    },
  };
}

function decoderConfig(size: TinyModelSize): object {
  const { hiddenSize, heads } = size;
  if (hiddenSize % (2 * heads) !== 0) {
    throw new RangeError(`hiddenSize ${hiddenSize} must be a multiple of 2 × heads (${heads}): rotary pairs`);
  }
  return {
    ...(size.family === 'gpt2' ? gpt2(size) : qwen2(size)),
    ...(isMasked(size) && { mask_token_id: vocabularyOf(size).indexOf(MASK) }),
    vocab_size: vocabularyOf(size).length,
    initializer_range: 0.02,
    tie_word_embeddings: true,
    bos_token_id: null,
    eos_token_id: EOS,
    pad_token_id: PAD,
    torch_dtype: 'float32',
  };
}

function gpt2({ hiddenSize, layers, heads, intermediateSize, maxLength }: TinyModelSize): object {
  return {
    architectures: ['GPT2LMHeadModel'],
    model_type: 'gpt2',
    n_embd: hiddenSize,
    n_inner: intermediateSize,
    n_layer: layers,
    n_head: heads,
    n_positions: maxLength,
    activation_function: 'gelu_new',
    layer_norm_epsilon: 1e-5,
    embd_pdrop: 0,
    attn_pdrop: 0,
    resid_pdrop: 0,
  };
}

function qwen2({ family, hiddenSize, layers, heads, intermediateSize, maxLength }: TinyModelSize): object {
  return {
    architectures: [family === 'qwen2' ? 'Qwen2ForCausalLM' : 'A2DQwen2LMHeadModel'],
    model_type: family,
    hidden_size: hiddenSize,
    intermediate_size: intermediateSize,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    hidden_act: 'silu',
    max_position_embeddings: maxLength,
    rope_theta: 10_000,
    rms_norm_eps: 1e-6,
    attention_dropout: 0,
    use_sliding_window: false,
  };
}
