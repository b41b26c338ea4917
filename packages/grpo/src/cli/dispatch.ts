import { UsageError, UserError } from '../config/index.js';
import { packageVersion } from '../config/version.js';
import { nearestName } from '../errors/nearest-name.js';
import { parseArguments } from './arguments.js';
import { type CommandInfo, EXIT } from './command.js';
import { commandHelp, overview } from './help.js';
import { wrap } from './text-layout.js';

/** Where a command line comes from and goes to; replaced in tests. */
export interface Surroundings {
  commands: readonly CommandInfo[];
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
  /** Whether stacks are printed (GRPO_DEBUG=1). */
  debug: boolean;
}

/** Runs one command line (without `node` and the script) and returns the exit code. Never throws. */
export async function dispatch(argv: readonly string[], around: Surroundings): Promise<number> {
  try {
    return await runCommand(argv, around);
  } catch (error) {
    const first = firstError(error);
    around.stderr.write(`${describeError(first, around.debug)}\n`);
    return first instanceof UsageError ? EXIT.usage : EXIT.error;
  }
}

async function runCommand(
  [name, ...rest]: readonly string[],
  { commands, stdout, stderr }: Surroundings,
): Promise<number> {
  if (name === undefined) {
    stderr.write(overview(commands));
    return EXIT.usage;
  }
  if (name === '--version') {
    stdout.write(`${packageVersion()}\n`);
    return 0;
  }
  if (isHelp(name) || (name === 'help' && rest.length === 0)) {
    stdout.write(overview(commands));
    return 0;
  }
  const words = name === 'help' ? rest : [name, ...rest];
  const asksHelp = name === 'help' || rest.some(isHelp);
  const found = commandOf(words, commands);
  if (found) {
    const { command, argv } = found;
    if (!asksHelp) {
      const args = parseArguments(command, argv);
      return (await command.load(args)).run(args);
    }
    stdout.write(commandHelp(command, argv, topicsOf(name === 'help' ? ['--help', ...argv] : argv)));
    return 0;
  }
  const family = commands.filter((command) => command.name.startsWith(`${words[0]} `));
  if (family.length > 0 && asksHelp) {
    stdout.write(overview(family));
    return 0;
  }
  throw unknownCommand(words, family.length > 0 ? family : commands);
}

/** The command that a command line begins with: its name is one word or two. */
function commandOf(
  words: readonly string[],
  commands: readonly CommandInfo[],
): { command: CommandInfo; argv: string[] } | undefined {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const command = commands.find((candidate) => candidate.name === name);
    if (command) return { command, argv: words.slice(length) };
  }
  return undefined;
}

function unknownCommand([first = '', second = '']: readonly string[], candidates: readonly CommandInfo[]) {
  const names = candidates.map(({ name }) => name);
  const isFamily = names.every((name) => name.startsWith(`${first} `));
  if (isFamily && (second === '' || second.startsWith('-')))
    return new UsageError(`grpo ${first} needs to know what to do: ${names.join(', ')}.`, {
      hint: `grpo ${first} --help lists them.`,
    });
  const wanted = isFamily ? `${first} ${second}` : first;
  return new UsageError(
    `Unknown command '${wanted}'. The nearest known command is ${nearestName(wanted, names)}.`,
    { hint: 'grpo --help lists the commands.' },
  );
}

/** The words right behind `--help`. */
function topicsOf(argv: readonly string[]): readonly string[] {
  const behind = argv.slice(argv.findIndex(isHelp) + 1);
  const end = behind.findIndex((word) => word.startsWith('-') || word.includes('='));
  return end === -1 ? behind : behind.slice(0, end);
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

/** The first error, where closing files after it failed as well, as on a full disk. */
function firstError(error: unknown): unknown {
  const suppressed = error instanceof Error && error.name === 'SuppressedError' && 'suppressed' in error;
  return suppressed ? firstError(error.suppressed) : error;
}

/** The engine's errors for users, by their names: few commands have to load their classes. */
const OF_ENGINE = ['SetupError', 'PeerError'];

/** Node's words for a package that is not there name no cure. */
function isMissingEngine({ message, code }: NodeJS.ErrnoException): boolean {
  return code === 'ERR_MODULE_NOT_FOUND' && message.includes("package '@grpo/torch'");
}

function describeError(error: unknown, debug: boolean): string {
  if (!(error instanceof Error)) return `grpo: ${String(error)}`;
  const lines = [`grpo: ${error.message}`];
  if (error instanceof UserError) {
    if (error.hint !== undefined) lines.push(error.hint);
  } else if (isMissingEngine(error)) {
    lines.push('That is the tensor engine. Run: npm install @grpo/torch, and then: npx grpo setup');
  } else if (!OF_ENGINE.includes(error.name)) {
    if (error.cause instanceof Error) lines.push(`Cause: ${error.cause.message}`);
    if (!debug) lines.push('GRPO_DEBUG=1 shows where this happened.');
  }
  if (debug && error.stack !== undefined) lines.push(error.stack);
  const width = process.stderr.columns;
  const text = lines.join('\n');
  return width === undefined
    ? text
    : text
        .split('\n')
        .flatMap((line) => wrap(line, width))
        .join('\n');
}
