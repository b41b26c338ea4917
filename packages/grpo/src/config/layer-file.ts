import { readFileSync } from 'node:fs';
import { isMap, isNode, isScalar, LineCounter, type Node, parseDocument, type YAMLMap } from 'yaml';
import { UsageError } from './errors.js';
import { findKey, sections } from './keys.js';
import { type Layer, notAKey } from './layer.js';

/** Reads a YAML file of settings. Every entry's source is `file:line`. Throws `UsageError` when it cannot be read. */
export function fileLayer(path: string): Layer {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : String(cause);
    throw new UsageError(`Cannot read the configuration file ${path}: ${reason}.`, { cause });
  }
  return yamlLayer(text, path);
}

/** Like `fileLayer`, from the file's text. */
export function yamlLayer(text: string, path: string): Layer {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const lineAt = (offset: number) => `${path}:${counter.linePos(offset).line}`;
  const [broken] = [...document.errors, ...document.warnings];
  if (broken) throw new UsageError(`${lineAt(broken.pos[0])}: not valid YAML. ${broken.message}.`);

  const layer: Layer = { entries: new Map(), problems: [] };
  const visit = (map: YAMLMap, path: string[]) => {
    for (const { key, value } of map.items) {
      const source = lineAt(startOf(key));
      const here = [...path, isScalar(key) ? String(key.value) : String(key)];
      const written = here.join('.');
      if (findKey(written) && here.every((part) => !part.includes('.'))) {
        layer.entries.set(written, {
          value: isNode(value) ? value.toJS(document) : value,
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

function startOf(node: unknown): number {
  return (isNode(node) && (node as Node).range?.[0]) || 0;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}
