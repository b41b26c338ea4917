/** A loader hook that gives one module another source. */
import type { InitializeHook, LoadHook } from 'node:module';

/** A module by its URL, and its new text. */
export interface ReplacedSource {
  url: string;
  source: string;
}

let replaced: ReplacedSource | undefined;

export const initialize: InitializeHook<ReplacedSource> = (data) => {
  replaced = data;
};

export const load: LoadHook = (url, context, nextLoad) =>
  url === replaced?.url
    ? { format: 'module', source: replaced.source, shortCircuit: true }
    : nextLoad(url, context);
