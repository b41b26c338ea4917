import { parseDocument } from 'yaml';
import { UsageError } from '../../errors/user-error.js';
import { type ConfigCommand, readsKey } from '../command-keys.js';
import { findKey, type Key } from '../keys.js';
import { type Layer, notAKey, notRead } from './layer.js';

const SOURCE = 'command line';

/** Whether an argument has the form `key=value`. */
export function isSetting(argument: string): boolean {
  return /^[A-Za-z_][\w.-]*=/.test(argument);
}

/**
 * Reads `key=value` arguments; the last one of a key wins. Unlike in a file, which may serve several commands,
 * a key that the command does not read is an error here.
 */
export function argumentsLayer(settings: readonly string[], command: ConfigCommand): Layer {
  const layer: Layer = { entries: new Map(), problems: [] };
  const reads = (path: string) => readsKey(command, path);
  for (const setting of settings) {
    if (!isSetting(setting)) throw new UsageError(`Expected key=value, found '${setting}'.`);
    const equals = setting.indexOf('=');
    const path = setting.slice(0, equals);
    const key = findKey(path);
    if (!key) layer.problems.push(notAKey([path], SOURCE));
    else if (!reads(path)) layer.problems.push(notRead(`grpo ${command}`, path, SOURCE, reads));
    else layer.entries.set(path, { value: parseValue(key, setting.slice(equals + 1)), source: SOURCE });
  }
  return layer;
}

/** Text stays as it is; numbers, booleans and lists are read as YAML, so both places accept the same spellings. */
function parseValue(key: Key, text: string): unknown {
  const { type } = key.schema;
  if (type === 'string') return text;
  const document = parseDocument(text, { prettyErrors: false });
  // Text that is not YAML, or is empty, stays text: the check of the key's type then refuses it and shows it.
  return document.errors.length > 0 || text.trim() === '' ? text : document.toJS();
}
