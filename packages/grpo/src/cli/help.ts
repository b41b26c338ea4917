import { readsKey } from '../config/command-keys.js';
import { type Key, keys } from '../config/keys.js';
import { type CommandInfo, flagsOf } from './command.js';
import { twoColumns } from './text-layout.js';

const WIDTH = 100;

/** `grpo --help`. */
export function overview(commands: readonly CommandInfo[]): string {
  return [
    'grpo: train language models with GRPO',
    '',
    'Usage: grpo COMMAND [--flag] [key=value ...]',
    '',
    ...twoColumns(
      commands.map(({ name, summary }) => [`  ${name}`, summary]),
      18,
      WIDTH,
    ),
    '',
    'grpo COMMAND --help lists its flags and settings. grpo --version shows the version.',
    '',
  ].join('\n');
}

/**
 * `grpo COMMAND --help`: flags, then every setting with its default, from the schema.
 *
 * @param argv - the rest of the command line, which may bring more flags
 */
export function commandHelp(command: CommandInfo, argv: readonly string[] = []): string {
  const flags = Object.entries(flagsOf(command, argv)).map(([name, { value, help }]) => {
    return [`  --${name}${value === undefined ? '' : ` ${value}`}`, help] as const;
  });
  const lines = [
    command.summary,
    '',
    `Usage: grpo ${command.usage}`,
    '',
    ...twoColumns([...flags, ['  --help', 'This help']], 24, WIDTH),
  ];
  const readable = keys.filter((key) => command.keys && readsKey(command.keys, key.path));
  if (readable.length > 0) {
    lines.push('', 'Settings, with their defaults. On the command line: key=value, lists as YAML ([a, b]).');
    if ('config' in command.flags) {
      lines.push('In a YAML file the dots are nesting. The command line wins over the file.');
    }
    lines.push('Paths are relative to the current folder.');
  }
  for (const section of new Set(readable.map((key) => key.section))) {
    const rows = readable.filter((key) => key.section === section).map(keyRow);
    lines.push('', section === '' ? 'general' : section, ...twoColumns(rows, 34, WIDTH));
  }
  return `${lines.join('\n')}\n`;
}

function keyRow(key: Key): [string, string] {
  const preset = key.default === undefined ? '' : `=${formatDefault(key.default)}`;
  // That a path or a name is text goes without saying.
  const type = key.schema.type === 'string' && !key.schema.enum ? '' : ` [${key.type.replace(/^a /, '')}]`;
  return [`  ${key.path}${preset}`, key.help + type];
}

function formatDefault(value: unknown): string {
  if (typeof value === 'number')
    return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
