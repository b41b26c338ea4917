import { readsKey } from '../config/command-keys.js';
import { UsageError } from '../config/index.js';
import { type Key, keys } from '../config/keys.js';
import { oursOf } from '../config/other-names.js';
import { nearestName } from '../errors/nearest-name.js';
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
 * `grpo COMMAND --help`: flags, the settings at the top, and the names of the others; with topics the settings of
 * these sections, each with its default, from the schema.
 *
 * @param argv - the rest of the command line, which may bring more flags
 * @param topics - sections or keys, or `all`. Throws `UsageError` for others
 */
export function commandHelp(
  command: CommandInfo,
  argv: readonly string[] = [],
  topics: readonly string[] = [],
): string {
  const readable = keys.filter((key) => command.keys && readsKey(command.keys, key.path));
  const all = [...new Set(readable.map((key) => key.section))];
  const shown = topics.flatMap((topic) => sectionsOf(topic, readable, all, command.name));
  const inFull = new Set(shown.length > 0 ? shown : all.filter((section) => section === ''));
  const lines = shown.length > 0 ? [] : beginning(command, argv, readable.length > 0);
  for (const section of inFull) {
    const rows = readable.filter((key) => key.section === section).map(keyRow);
    lines.push('', section === '' ? GENERAL : section, ...twoColumns(rows, 34, WIDTH));
  }
  const others = all.filter((section) => !inFull.has(section));
  if (shown.length === 0 && others.length > 0) {
    const rows = others.map((section) => {
      const own = readable.filter((key) => key.section === section);
      return [`  ${section}.`, own.map(({ path }) => path.slice(section.length + 1)).join(', ')] as const;
    });
    lines.push(
      '',
      `Sections: grpo ${command.name} --help ${others[0]} shows one in full, --help all every one.`,
    );
    lines.push(...twoColumns(rows, 18, WIDTH));
  }
  return `${lines.join('\n').trimStart()}\n`;
}

/** The section of the keys that have none. */
const GENERAL = 'general';

function beginning(command: CommandInfo, argv: readonly string[], settings: boolean): string[] {
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
  if (!settings) return lines;
  lines.push('', 'Settings, with their defaults. On the command line: key=value, lists as YAML ([a, b]).');
  if ('config' in command.flags)
    lines.push('In a YAML file the dots are nesting. The command line wins over the file.');
  lines.push('Paths are relative to the current folder.');
  return lines;
}

/** The sections that a topic of help means. */
function sectionsOf(
  topic: string,
  readable: readonly Key[],
  all: readonly string[],
  command: string,
): readonly string[] {
  if (topic === 'all') return all;
  const key = readable.find(({ path }) => path === topic);
  const section = topic === GENERAL ? '' : (key?.section ?? topic);
  if (all.includes(section)) return [section];
  const known = ['all', GENERAL, ...all.filter((name) => name !== ''), ...readable.map(({ path }) => path)];
  const nearest = oursOf(topic) ?? nearestName(topic, known);
  throw new UsageError(`grpo ${command} has no settings ${topic}. The nearest are ${nearest}.`, {
    hint: `grpo ${command} --help lists them.`,
  });
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
