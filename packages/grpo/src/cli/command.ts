import type { ConfigCommand } from '../config/index.js';

/** A flag beside `--help`, which every command has. */
export interface Flag {
  type: 'boolean' | 'string';
  /** What the value of a string flag is called in the help: `--config FILE`. */
  value?: string;
  /** Whether it may be given more than once; its value is then a list. */
  multiple?: boolean;
  help: string;
}

/** Flags that a command takes beside its own in some cases only. */
export interface MoreFlags {
  flags: Readonly<Record<string, Flag>>;
  /** When they are taken, as it is written: `--preset cs336`. */
  condition: string;
  /** Whether a command line is such a case. */
  taken(argv: readonly string[]): boolean;
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

/** What a command does; returns the exit code. Errors are thrown: a `UserError` is printed as one message. */
export type Run = (args: CommandArguments) => Promise<number>;

/** A command of `grpo`, without what it loads when it runs: help and a wrong command line need no tensor engine. */
export interface CommandInfo {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** The form of the command line, after `grpo`. */
  usage: string;
  flags: Record<string, Flag>;
  more?: MoreFlags;
  /** Whose settings it takes as `key=value`; without it, none. */
  keys?: ConfigCommand;
  /** Whether it takes words that are neither flags nor settings: names, files. */
  operands?: true;
  /** Imports the command's `run.ts`. */
  load(): Promise<{ run: Run }>;
}

/** The flags that a command takes on a command line. */
export const flagsOf = ({ flags, more }: CommandInfo, argv: readonly string[]): Record<string, Flag> =>
  more?.taken(argv) ? { ...flags, ...more.flags } : flags;

/** Exit codes beside 0 and those of `interruptible`. */
export const EXIT = { error: 1, usage: 2, finding: 3 } as const;
