import type { ConfigCommand } from '../config/index.js';

/** A flag beside `--help`, which every command has. */
export interface Flag {
  type: 'boolean' | 'string';
  /** Name of a string flag's value in the help: `--config FILE`. */
  value?: string;
  /** Whether it may be given more than once; its value is then a list. */
  multiple?: boolean;
  help: string;
}

/** Flags that a command takes beside its own with some presets only. */
export interface PresetFlags {
  presets: readonly [string, ...string[]];
  flags: Readonly<Record<string, Flag>>;
}

/** The command line of one command, read. */
export interface CommandArguments {
  /** Values of the flags that were given, by name. */
  flags: Record<string, string | boolean | (string | boolean)[] | undefined>;
  /** The `key=value` arguments, as they were written. */
  settings: string[];
  /** The other words, of a command that takes some. */
  operands: string[];
}

/** Runs a command and returns the exit code. Errors are thrown: a `UserError` is printed as one message. */
export type Run = (args: CommandArguments) => Promise<number>;

/** A command of `grpo`, without the modules that it runs: help and a wrong command line need no tensor engine. */
export interface CommandInfo {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The form of the command line, after `grpo`. */
  usage: string;
  flags: Record<string, Flag>;
  presetFlags?: readonly PresetFlags[];
  /** Whose settings it takes as `key=value`; without it, none. */
  keys?: ConfigCommand;
  /** Whether it takes words that are neither flags nor settings: names, files. */
  operands?: true;
  /** Imports the command's `run.ts`, or what stands for it with some flags. */
  load(args: CommandArguments): Promise<{ run: Run }>;
}

/** The flags that a command takes on a command line. */
export function flagsOf(
  { flags, presetFlags = [] }: CommandInfo,
  argv: readonly string[],
): Record<string, Flag> {
  const presetNames = argv.map((word, i) =>
    word === '--preset' ? argv[i + 1] : /^(?:--)?preset=(.*)$/.exec(word)?.[1],
  );
  const sets = presetFlags.filter(({ presets }) => presets.some((preset) => presetNames.includes(preset)));
  return Object.assign({}, flags, ...sets.map((set) => set.flags));
}

/** Exit codes beside 0 and those of `interruptible`. */
export const EXIT = { error: 1, usage: 2, finding: 3, tooLittle: 4 } as const;
