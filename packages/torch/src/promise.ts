/**
 * For functions whose effect ends when they return.
 * @throws TypeError when `result` is a promise, saying `why` that cannot work.
 */
export function refusePromise<T>(name: string, result: T, why: string): T {
  if (!isThenable(result)) return result;
  // The rest of the body will fail for the reason given here: a second, unhandled report would end the process.
  result.then(undefined, () => {});
  throw new TypeError(`${name}() was given an async function: ${why}`);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  );
}
