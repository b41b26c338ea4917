/** Command lines of other trainers, which `grpo train` takes with their presets. */
import type { Config, Layer, ResolvedConfig } from '../../config/index.js';
import { info as cs336 } from '../../cs336/command-line/info.js';
import type { CommandArguments, PresetFlags } from '../command.js';

/** A command line of another trainer. */
interface Dialect extends PresetFlags {
  load(): Promise<{
    /**
     * Translates the flags that were given into settings, and says how it read them.
     *
     * @param resolve - returns the configuration with a layer of flags
     */
    translate(
      flags: CommandArguments['flags'],
      resolve: (layer: Layer) => ResolvedConfig,
    ): { layer: Layer; notes: string[] };
    /** Says where the other trainer does otherwise than this run. */
    notesOn(config: Config): string[];
    /** Is called after each checkpoint. */
    saved(checkpoint: { dir: string; step: number }, config: Config): void;
  }>;
}

export const dialects: readonly Dialect[] = [cs336];
