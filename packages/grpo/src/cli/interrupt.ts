/**
 * Answers Ctrl-C: the first one aborts `signal`, after which a run ends with the step in progress; a second one ends
 * the process at once. Disposing gives Ctrl-C its usual effect back.
 */
export function interruptible(onFirst: () => void): Disposable & { signal: AbortSignal } {
  const controller = new AbortController();
  const stop = () => process.off('SIGINT', onSignal);
  const onSignal = () => {
    stop();
    onFirst();
    controller.abort();
  };
  process.on('SIGINT', onSignal);
  return { signal: controller.signal, [Symbol.dispose]: stop };
}
