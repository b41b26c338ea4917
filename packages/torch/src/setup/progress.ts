import type { Say } from './say.js';

/** Shows how much of a file is there, in bytes. */
export interface Progress {
  show(have: number, total?: number): void;
  /** Takes the line away from a terminal. */
  end(): void;
}

const redrawMilliseconds = 200;
const megabyte = 1e6;

/**
 * One line that is rewritten on a terminal; elsewhere a line for every tenth of the file, or for every 50 MB where
 * its size is unknown.
 */
export function startProgress(say: Say, now = Date.now): Progress {
  let steps: number | undefined;
  let drawn = 0;
  return {
    show(have, total) {
      const text = describe(have, total);
      if (say.over) {
        if (now() - drawn < redrawMilliseconds && have !== total) return;
        drawn = now();
        say.over(text);
        return;
      }
      const reached = Math.floor(have / (total ? total / 10 : 50 * megabyte));
      if (steps !== undefined && reached > steps) say(text);
      steps = reached;
    },
    end: () => say.over?.(''),
  };
}

function describe(have: number, total?: number): string {
  const megabytes = (have / megabyte).toFixed(0);
  if (!total) return `  ${megabytes} MB`;
  const percent = Math.floor((100 * have) / total);
  return `  ${String(percent).padStart(3)} %  ${megabytes} of ${(total / megabyte).toFixed(0)} MB`;
}
