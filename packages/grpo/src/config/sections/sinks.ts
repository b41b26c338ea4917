import { z } from 'zod';

const sink = z.enum(['csv', 'tensorboard']);

/** One of `sinks`. */
export type SinkSetting = z.output<typeof sink>;

/** The kind of a sink, which is its name: a run has one of each. */
export const sinkName = (setting: SinkSetting) => setting;

/** Where a run's numbers go beside its own files. */
export const sinksList = z
  .array(sink)
  .default([])
  .describe(
    "Where else the run's numbers go while it trains: [csv, tensorboard] write tables and event files in its folder",
  );
