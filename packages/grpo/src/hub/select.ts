import { editDistance } from '../errors/nearest-name.js';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { RemoteFile } from './listing.js';
import { fetchCommand, type Repository } from './repository.js';

const SINGLE = 'model.safetensors';

/** What the loader reads beside the weights. */
const MODEL = [
  'config.json',
  'generation_config.json',
  'tokenizer*.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.*',
];
const SHARDS = ['model.safetensors.index.json', 'model-*.safetensors'];
const ADAPTER = 'adapter_config.json';
const DATASET = ['*.jsonl', '*.json', '*.parquet', '*.csv', 'README.md'];

/** Whether a file holds weights. */
export const isWeights = ({ path }: RemoteFile): boolean => path.endsWith('.safetensors');

/**
 * The files to get, weights last and else smallest first: those that match the patterns (`*` also crosses folders), or without patterns what
 * a model needs to be loaded, or a dataset's data.
 *
 * @throws UserError: a pattern fits no file, or the repository lacks what a model needs.
 */
export function selectFiles(
  { kind, name }: Repository,
  files: readonly RemoteFile[],
  patterns: readonly string[],
): RemoteFile[] {
  const paths = files.map(({ path }) => path);
  const unmatched = patterns.find((pattern) => !paths.some(matcher([pattern])));
  if (unmatched !== undefined) {
    const [closest] = paths.toSorted((a, b) => editDistance(unmatched, a) - editDistance(unmatched, b));
    throw new UserError(`${name} has no file '${unmatched}'`, {
      hint: `${closest === undefined ? '' : `The nearest one is ${closest}. `}${contents(paths)}`,
    });
  }
  const fits =
    patterns.length === 0 && kind === 'model'
      ? modelFiles(name, paths)
      : matcher(patterns.length > 0 ? patterns : DATASET);
  const selected = files.filter(({ path }) => fits(path));
  if (selected.length === 0) {
    throw new UserError(`${name} has no jsonl, json, parquet or csv file`, {
      hint: `Name the files that you want. ${contents(paths)}`,
    });
  }
  return selected.sort((a, b) => Number(isWeights(a)) - Number(isWeights(b)) || a.size - b.size);
}

/** A model's own files lie at the top; variants of it may lie in folders below. */
function modelFiles(name: string, paths: readonly string[]): (path: string) => boolean {
  const weights = paths.includes(SINGLE) ? [SINGLE] : SHARDS;
  const lacking = (what: string, advice: string) =>
    new UserError(`${name} has no ${what}, which a model needs to be loaded`, {
      hint: `${advice} ${contents(paths)}`,
    });
  if (paths.includes(ADAPTER)) {
    throw new UserError(`${name} is an adapter, not a model`, {
      hint: `Fetch its files by name, ${fetchCommand({ kind: 'model', name })} ${ADAPTER} adapter_model.safetensors, and the model that it names; then lora.adapter=FOLDER.`,
    });
  }
  if (!paths.some(matcher(weights, TOP))) throw lacking('safetensors weights', adviceOnWeights(paths));
  // SentencePiece's own file is read where there is no other.
  const hasOnlyPieces = !paths.includes('tokenizer.json') && paths.includes('tokenizer.model');
  const tokenizer = hasOnlyPieces ? 'tokenizer.model' : 'tokenizer.json';
  for (const needed of ['config.json', tokenizer]) {
    if (!paths.includes(needed)) throw lacking(needed, adviceFor(needed, paths));
  }
  return matcher([...MODEL, tokenizer, ...weights], TOP);
}

function adviceOnWeights(paths: readonly string[]): string {
  return paths.some(matcher(['pytorch_model*.bin'], TOP))
    ? 'Its weights are pickled (.bin), and reading these can run code. Many such repositories have a converted revision: try --revision refs/pr/1, or the number that the Community tab shows. Or convert it with transformers: AutoModelForCausalLM.from_pretrained, then save_pretrained.'
    : 'ONNX and GGUF weights are not read: look for the original.';
}

function adviceFor(needed: string, paths: readonly string[]): string {
  const anyway = 'To download files anyway, name them.';
  const hasOlder = ['vocab.json', 'merges.txt'].every((file) => paths.includes(file));
  if (needed !== 'tokenizer.json' || !hasOlder) return anyway;
  return `${anyway} transformers makes tokenizer.json from vocab.json and merges.txt: AutoTokenizer.from_pretrained, then save_pretrained.`;
}

const ANYWHERE = '.*';
const TOP = '[^/]*';

/** Whether a path fits one of the patterns, in which `*` stands for what `star` says and `?` for one character. */
function matcher(patterns: readonly string[], star = ANYWHERE): (path: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const literal = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`^${literal.replaceAll('*', star).replaceAll('?', '.')}$`, 's');
  });
  return (path) => expressions.some((expression) => expression.test(path));
}

function contents(paths: readonly string[]): string {
  return paths.length === 0 ? 'It is empty.' : `It has ${excerpt(paths.join(', '))}.`;
}
