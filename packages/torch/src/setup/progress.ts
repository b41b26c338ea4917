import type { Say } from './say.js';

/** Shows how far long work is. */
export interface Progress {
  show(text: string): void;
  /** Takes the line away from a terminal. */
  end(): void;
}

const redrawMilliseconds = 200;
/** Longest silence where there is no terminal. */
const silenceMilliseconds = 30_000;

/** One line that is rewritten on a terminal, with the seconds so far; elsewhere a line every 30 seconds. */
export function startProgress(say: Say): Progress {
  const begun = performance.now();
  let text = '';
  const draw = () => {
    if (text === '') return;
    const seconds = ((performance.now() - begun) / 1000).toFixed(0);
    (say.over ?? say)(`  ${text}  ${seconds} s`);
  };
  const timer = setInterval(draw, say.over ? redrawMilliseconds : silenceMilliseconds).unref();
  return {
    show(next) {
      text = next;
    },
    end() {
      clearInterval(timer);
      say.over?.('');
    },
  };
}

/** Does work under a line of its progress. */
export async function withProgress<T>(say: Say, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress(say);
  try {
    return await work(progress);
  } finally {
    progress.end();
  }
}

/** Bytes that are there, of all where that is known. */
export function describeBytes(have: number, total?: number): string {
  const megabytes = (have / 1e6).toFixed(0);
  if (!total) return `${megabytes} MB`;
  const percent = Math.floor((100 * have) / total);
  return `${String(percent).padStart(3)} %  ${megabytes} of ${(total / 1e6).toFixed(0)} MB`;
}
