import type { ConfigCommand } from '../command-keys.js';
import type { Config } from '../schema.js';

/** Facts that a rule reads beside the configuration. */
export interface RuleContext {
  command: ConfigCommand;
  /** Whether somebody gave the key a value other than its default, by hand and not by a preset. */
  given(path: string): boolean;
}

/** A rule between keys. It is checked for commands that read all of `keys`, and its message names them. */
export interface Rule {
  keys: readonly string[];
  /** The problem and its remedy, or undefined when all is well. */
  check(config: Config, context: RuleContext): string | undefined;
}
