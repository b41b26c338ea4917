import { parseArgs } from 'node:util';
import { UsageError } from '../config/index.js';
import { findKey } from '../config/keys.js';
import { isSetting } from '../config/layer-arguments.js';
import { nearest } from '../config/nearest.js';
import type { CommandArguments, CommandInfo } from './command.js';

/** Reads what follows a command's name. Throws `UsageError` for unknown flags and stray words. */
export function parseArguments(command: CommandInfo, argv: readonly string[]): CommandArguments {
  const hint = `grpo ${command.name} --help shows what it takes.`;
  const options = Object.fromEntries(
    Object.entries(command.flags).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  let parsed: { values: object; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (cause) {
    throw new UsageError(flagProblem(command, cause as NodeJS.ErrnoException, argv), { hint, cause });
  }
  const flags = { ...parsed.values };
  if (command.operands) return { flags, settings: [], operands: parsed.positionals };
  for (const word of parsed.positionals) {
    if (command.keys && isSetting(word)) continue;
    const expected = command.keys
      ? 'settings are written key=value'
      : `grpo ${command.name} takes only flags`;
    throw new UsageError(`Unexpected '${word}': ${expected}.`, { hint });
  }
  return { flags, settings: parsed.positionals, operands: [] };
}

function flagProblem(command: CommandInfo, error: NodeJS.ErrnoException, argv: readonly string[]): string {
  if (error.code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `${error.message.split(/\.\s|\.$/)[0]}.`;
  const known = ['help', ...Object.keys(command.flags)];
  const written = argv.find((word) => word.startsWith('-') && !known.includes(nameOf(word))) ?? '';
  const name = nameOf(written);
  if (command.keys && findKey(name))
    return `${name} is a setting, not a flag: write ${name}=VALUE without dashes.`;
  return `Unknown flag ${written.split('=')[0]}. The nearest known flag is --${nearest(name, known)}.`;
}

function nameOf(word: string): string {
  return word.replace(/^-+/, '').split('=')[0]!;
}
