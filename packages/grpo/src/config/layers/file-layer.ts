import {
  isMap,
  isNode,
  isScalar,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  type YAMLMap,
} from 'yaml';
import { excerpt, printable } from '../../errors/printable.js';
import { UsageError, UserError } from '../../errors/user-error.js';
import { readText } from '../../formats/read-file.js';
import { findKey, sections } from '../keys.js';
import { type Layer, notAKey } from './layer.js';

/** Ten times the size of all settings with their help; the parser's time grows with the square of the keys. */
const MAX_BYTES = 2 ** 16;
/** Nesting as the parser counts it, up to three per list or section; no setting needs ten of them. */
const MAX_DEPTH = 50;
/** No key has a longer name. */
const MAX_KEY = 80;

/** Reads a YAML file of settings. Every entry's source is `file:line`. Throws `UsageError` when it cannot be read. */
export function fileLayer(path: string): Layer {
  return yamlLayer(readSettings(path), path);
}

function readSettings(path: string): string {
  try {
    return readText(path, 'the configuration file', MAX_BYTES);
  } catch (error) {
    if (error instanceof UserError) throw new UsageError(error.message, { hint: error.hint, cause: error });
    throw error;
  }
}

/** Like `fileLayer`, from the file's text. */
export function yamlLayer(text: string, path: string): Layer {
  const deep = firstTooDeep(text);
  if (deep !== undefined)
    throw new UsageError(`${path}:${deep}: nested too deeply; settings are keys in sections.`);
  const counter = new LineCounter();
  const lineAt = (offset: number) => `${path}:${counter.linePos(offset).line}`;
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const [broken] = [...document.errors, ...document.warnings];
  if (broken) throw new UsageError(`${lineAt(broken.pos[0])}: not valid YAML. ${printable(broken.message)}.`);
  const toValue = (node: unknown, source: string): unknown => {
    try {
      return isNode(node) ? node.toJS(document) : node;
    } catch (cause) {
      // An alias that is not defined, or aliases of aliases, whose number grows without end.
      if (!(cause instanceof ReferenceError)) throw cause;
      const problem = `not valid YAML. ${printable(cause.message)}. Write the values out.`;
      throw new UsageError(`${source}: ${problem}`, { cause });
    }
  };

  const layer: Layer = { entries: new Map(), problems: [] };
  const visit = (map: YAMLMap, path: string[]) => {
    for (const { key, value } of map.items) {
      const source = lineAt(startOf(key));
      const name = printable(isScalar(key) ? String(key.value) : String(key));
      if (name.length > MAX_KEY) {
        layer.problems.push(`Unknown key ${excerpt(name)} (${source}).`);
        continue;
      }
      const here = [...path, name];
      const written = here.join('.');
      if (findKey(written) && here.every((part) => !part.includes('.'))) {
        layer.entries.set(written, {
          value: toValue(value, source),
          source,
          locate: (rest) => locate([...here, ...rest]) ?? source,
        });
      } else if (sections.includes(written) && isMap(value)) visit(value, here);
      // A section whose keys are all commented out is empty, not wrong.
      else if (!(sections.includes(written) && isEmpty(value))) layer.problems.push(notAKey(here, source));
    }
  };
  // The line of the deepest part of a path that stands in the file.
  const locate = (path: readonly PropertyKey[]): string | undefined => {
    for (let length = path.length; length > 0; length--) {
      const node = document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return lineAt(node.range[0]);
    }
    return undefined;
  };

  if (isMap(document.contents)) visit(document.contents, []);
  else if (!isEmpty(document.contents)) {
    throw new UsageError(
      `${lineAt(startOf(document.contents))}: expected keys with values, such as 'seed: 1'.`,
    );
  }
  return layer;
}

/**
 * The line in which the nesting passes the limit, or undefined. Asked before the text is composed, which recurses: an overflow of
 * the stack there can end the process.
 */
function firstTooDeep(text: string): number | undefined {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(text)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) return text.slice(0, parser.offset).split('\n').length;
  }
  return undefined;
}

function startOf(node: unknown): number {
  return (isNode(node) && (node as Node).range?.[0]) || 0;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}
