/** Ends a run early, but whole: see `runSteps`. */

/** Causes that end a run early, with their exit codes: 128 + the signal's number, as shells count. */
export const CAUSES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129, 'closed output': 141 } as const;

type Cause = keyof typeof CAUSES;

/** The signals among them. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `npx` passes the Ctrl-C on that the terminal has sent here too: two signals this close are one. */
export const ECHO_MS = 300;

/** A run that can be interrupted. Disposing gives the signals their usual effect back. */
export interface Interrupt extends Disposable {
  /** Aborted by the first cause. */
  readonly signal: AbortSignal;
  /** Exit code of that cause; 0 while there is none. */
  readonly exitCode: number;
}

let current: ((cause: Cause) => void) | undefined;

/**
 * Answers Ctrl-C, SIGTERM (Slurm, `docker stop`), SIGHUP (a closed terminal) and an output that nobody reads any more:
 * the first of them aborts `signal`, after which a run stops and saves. A second Ctrl-C ends the process at once, also
 * in the middle of an operator, once the first was heard.
 *
 * @param note - told at once, unless nobody reads any more
 * @param ending - the answer to the interrupt, in words: `stopping and saving`
 */
export function interruptible(note: (text: string) => void, ending: string): Interrupt {
  const controller = new AbortController();
  let exitCode = 0;
  const interrupt = (cause: Cause) => {
    if (controller.signal.aborted) return;
    exitCode = CAUSES[cause];
    setTimeout(() => process.off('SIGINT', interrupt), ECHO_MS).unref();
    if (cause === 'SIGINT') note(`Interrupted: ${ending}. Ctrl-C again stops at once.`);
    else if (cause !== 'closed output') note(`${cause}: ${ending}.`);
    controller.abort();
  };
  for (const name of SIGNALS) process.on(name, interrupt);
  current = interrupt;
  return {
    signal: controller.signal,
    get exitCode() {
      return exitCode;
    },
    [Symbol.dispose]() {
      for (const name of SIGNALS) process.off(name, interrupt);
      current = undefined;
    },
  };
}

/** Interrupts the run in progress when the process that launched this one is gone. */
export function endWithLauncher(): void {
  process.channel?.unref();
  process.once('disconnect', () => interruptRun('SIGTERM'));
}

/** Interrupts the run in progress. @returns false when there is none */
export function interruptRun(cause: Cause): boolean {
  current?.(cause);
  return current !== undefined;
}
