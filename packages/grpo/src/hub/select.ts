import { editDistance } from '../errors/nearest-name.js';
import { excerpt } from '../errors/printable.js';
import { UserError } from '../errors/user-error.js';
import type { RemoteFile } from './listing.js';
import type { Repository } from './repository.js';

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
const DATASET = ['*.jsonl', '*.json', '*.parquet', '*.csv', 'README.md'];

/**
 * The files to get, smallest first: those that match the patterns (`*` also crosses folders), or without patterns what
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
  return selected.sort((a, b) => a.size - b.size);
}

/** A model's own files lie at the top; variants of it may lie in folders below. */
function modelFiles(name: string, paths: readonly string[]): (path: string) => boolean {
  const weights = paths.includes(SINGLE) ? [SINGLE] : SHARDS;
  const lacking = (what: string, advice: string) =>
    new UserError(`${name} has no ${what}, which a model needs to be loaded`, {
      hint: `${advice} ${contents(paths)}`,
    });
  if (!paths.some(matcher(weights, TOP))) {
    throw lacking(
      'safetensors weights',
      'Pickled, ONNX and GGUF weights are not read: look for the original.',
    );
  }
  for (const needed of ['config.json', 'tokenizer.json']) {
    if (!paths.includes(needed)) throw lacking(needed, adviceFor(needed, paths));
  }
  return matcher([...MODEL, ...weights], TOP);
}

function adviceFor(needed: string, paths: readonly string[]): string {
  const anyway = 'To download files anyway, name them.';
  return needed === 'tokenizer.json' && paths.includes('vocab.json') && paths.includes('merges.txt')
    ? `${anyway} transformers makes tokenizer.json from vocab.json and merges.txt: load the folder with a fast tokenizer, such as Qwen2TokenizerFast, and save_pretrained.`
    : anyway;
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
