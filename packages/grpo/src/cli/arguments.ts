import { parseArgs } from 'node:util';
import { UsageError } from '../config/index.js';
import { findKey } from '../config/keys.js';
import { isSetting } from '../config/layers/arguments-layer.js';
import { nearestName } from '../errors/nearest-name.js';
import { type CommandArguments, type CommandInfo, flagsOf } from './command.js';

/** Reads the words after a command's name. Throws `UsageError` for unknown flags and stray words. */
export function parseArguments(command: CommandInfo, argv: readonly string[]): CommandArguments {
  const hint = `grpo ${command.name} --help shows what it takes.`;
  const options = Object.fromEntries(
    Object.entries(flagsOf(command, argv)).map(([name, { type, multiple = false }]) => [
      name,
      { type, multiple },
    ]),
  );
  let parsed: { values: object; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new UsageError(flagProblem(command, cause as NodeJS.ErrnoException, argv), { hint, cause });
  }
  const flags = { ...parsed.values };
  if (command.operands) {
    const isOwn = (word: string) => command.keys !== undefined && isSetting(word);
    const operands = parsed.positionals.filter((word) => !isOwn(word));
    return { flags, settings: parsed.positionals.filter(isOwn), operands };
  }
  for (const word of parsed.positionals) {
    if (command.keys && isSetting(word)) continue;
    const expected = command.keys
      ? `settings are written key=value${/\.ya?ml$/i.test(word) ? `, and a file of them is --config ${word}` : ''}`
      : `grpo ${command.name} takes only flags`;
    throw new UsageError(`Unexpected '${word}': ${expected}.`, { hint });
  }
  return { flags, settings: parsed.positionals, operands: [] };
}

function flagProblem(command: CommandInfo, error: NodeJS.ErrnoException, argv: readonly string[]): string {
  const flags = flagsOf(command, argv);
  if (error.code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE') {
    const flag = /--([\w-]+)/.exec(error.message)?.[1] ?? '';
    const { type, value = 'VALUE' } = flags[flag] ?? {};
    return type === 'string' ? `--${flag} needs a value: --${flag} ${value}.` : `--${flag} takes no value.`;
  }
  if (error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `${error.message.split(/\.\s|\.$/)[0]}.`;
  const known = ['help', ...Object.keys(flags)];
  const written = argv.find((word) => word.startsWith('-') && !known.includes(nameOf(word))) ?? '';
  const name = nameOf(written);
  if (command.keys && findKey(name))
    return `${name} is a setting, not a flag: write ${name}=VALUE without dashes.`;
  const presetFlags = command.presetFlags?.find(({ flags }) => Object.hasOwn(flags, name));
  if (presetFlags) return `--${name} is taken with --preset ${presetFlags.presets[0]} only.`;
  return `Unknown flag ${written.split('=')[0]}. The nearest known flag is --${nearestName(name, known)}.`;
}

function nameOf(word: string): string {
  return word.replace(/^-+/, '').split('=')[0]!;
}
