/** Tokenizer and chat template of the lab's models, made without a file of anybody's. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';
import { ChatTemplate } from '../text/chat-template.js';
import { Tokenizer } from '../text/tokenizer.js';

/** Markers of the template: one token each, and no text of an answer. */
const MARKERS = ['<bos>', '<|system|>', '<|user|>', '<|assistant|>', '<|end|>'];
/** Pieces of several letters, so that a text has more than one tokenisation. */
const MERGES = [
  ['a', 'b'],
  ['c', 'd'],
  ['e', 'f'],
  ['ab', 'cd'],
] as const;

/** Every message between its role and the end of its turn, after one BOS. */
export const CHAT_TEMPLATE =
  "{{ bos_token }}{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}";

export interface Text {
  tokenizer: Tokenizer;
  template: ChatTemplate;
  /** End of a turn, and end of a text. */
  endId: number;
  eosId: number;
}

interface TokenizerFile {
  added_tokens: object[];
  model: { vocab: Record<string, number>; merges: string[][] };
}

/** @param pad - the token that pads; the end of a turn in models that have none of their own */
export async function labText(pad: '<pad>' | '<|end|>' = '<pad>'): Promise<Text> {
  const dir = mkdtempSync(join(tmpdir(), 'grpo-lab-'));
  try {
    const { endId, eosId } = await writeLabText(dir, pad);
    return { tokenizer: Tokenizer.load(dir), template: new ChatTemplate(CHAT_TEMPLATE), endId, eosId };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Writes the files of a small model with this tokenizer and template into a folder: all but the weights. */
export async function writeLabText(
  dir: string,
  pad: '<pad>' | '<|end|>' = '<pad>',
): Promise<Pick<Text, 'endId' | 'eosId'>> {
  await writeArithmeticModelFiles(dir);
  const json = <T>(name: string) => JSON.parse(readFileSync(join(dir, name), 'utf8')) as T;
  const write = (name: string, content: object) => writeFileSync(join(dir, name), JSON.stringify(content));
  const file = json<TokenizerFile>('tokenizer.json');
  const { vocab } = file.model;
  const next = () => Object.keys(vocab).length;
  for (const content of MARKERS) {
    const id = next();
    vocab[content] = id;
    const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
    file.added_tokens.push({ id, content, ...flags });
  }
  for (const [left, right] of MERGES) {
    vocab[left + right] = next();
    file.model.merges.push([left, right]);
  }
  const [endId, eosId] = [vocab['<|end|>']!, vocab['<eos>']!];
  const named = { bos_token: '<bos>', pad_token: pad, chat_template: CHAT_TEMPLATE };
  write('tokenizer.json', file);
  write('tokenizer_config.json', { ...json<object>('tokenizer_config.json'), ...named });
  write('config.json', { ...json<object>('config.json'), vocab_size: next() });
  write('generation_config.json', {
    ...json<object>('generation_config.json'),
    eos_token_id: [endId, eosId],
  });
  return { endId, eosId };
}
