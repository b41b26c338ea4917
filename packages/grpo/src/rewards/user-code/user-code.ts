/**
 * A user's code can end the process, leave a promise without an answer, or fail where nobody waits. While such code
 * may run, each of these becomes an error, so that a run ends with its state saved.
 */
import { setImmediate } from 'node:timers/promises';
import { UserError } from '../../errors/user-error.js';
import { describeError, Reason } from '../describe-error.js';

/** Seconds until a person is told who is waited for, and told again. */
const PATIENCE_SECONDS = 30;

/** Answers that are waited for. */
const waiting = new Set<{ name: string; since: number; giveUp(): void }>();
/** An error that nobody waited for, until somebody takes it. */
let stray: UserError | undefined;
/** Callbacks that pass a stray error to those who wait for other things. */
const alarms = new Set<(error: UserError) => void>();
let guards = 0;
/** What `refuseExit` stands in for. */
let exit = process.exit;

/**
 * Turns what a user's code does to the process into errors, from its construction until it is disposed: `process.exit` is
 * refused, as a function may call it long after it has answered.
 */
export class UserCodeGuard implements Disposable {
  readonly #timer: NodeJS.Timeout | undefined;

  /** @param tell - hears whose answer is waited for, every 30 s */
  constructor(tell?: (text: string) => void) {
    if (guards++ === 0) install();
    if (tell) this.#timer = setInterval(() => tellSlow(tell), 1000 * PATIENCE_SECONDS).unref();
  }

  /**
   * Does the work.
   *
   * @throws what the work throws; UserError as soon as there is an error that nobody waits for
   */
  async during<T>(work: () => Promise<T>): Promise<T> {
    let alarm: (error: UserError) => void = () => {};
    const astray = new Promise<never>((_, reject) => {
      alarm = reject;
      alarms.add(alarm);
    });
    try {
      return await Promise.race([work(), astray]);
    } finally {
      alarms.delete(alarm);
    }
  }

  /**
   * Waits for a turn of the event loop.
   *
   * @throws UserError when an error that nobody waited for has come up since the last call
   */
  async check(): Promise<void> {
    await setImmediate();
    const error = stray;
    stray = undefined;
    if (error) throw error;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (--guards === 0) uninstall();
  }
}

/** An answer of a user's code; an error when nothing is left in the process that could still give it. */
export async function answerOf<T>(name: string, answer: T | Promise<T>): Promise<T> {
  if (!(answer instanceof Promise)) return answer;
  let giveUp = () => {};
  const never = new Promise<never>((_, reject) => {
    giveUp = () => reject(new Reason('returned a promise that nothing can settle any more'));
  });
  const entry = { name, since: performance.now(), giveUp };
  waiting.add(entry);
  try {
    return await Promise.race([answer, never]);
  } finally {
    waiting.delete(entry);
  }
}

function install(): void {
  exit = process.exit;
  process.exit = refuseExit;
  process.on('beforeExit', giveUpAll);
  // A program that answers these itself goes on doing so.
  if (process.listenerCount('unhandledRejection') === 0) process.on('unhandledRejection', onRejection);
  if (process.listenerCount('uncaughtException') === 0) process.on('uncaughtException', onException);
}

function uninstall(): void {
  process.exit = exit;
  process.off('beforeExit', giveUpAll);
  process.off('unhandledRejection', onRejection);
  process.off('uncaughtException', onException);
}

function refuseExit(code?: number | string | null): never {
  const error = new Error(`called process.exit(${code ?? ''}), which would end the whole run`);
  // Its place is that of the call.
  Error.captureStackTrace(error, refuseExit);
  throw error;
}

/** The event loop is empty: what is still waited for never comes. */
function giveUpAll(): void {
  for (const { giveUp } of waiting) giveUp();
  // Who asks again, completion by completion, may have to be given up again: that takes another turn of the loop.
  if (waiting.size > 0) setImmediate();
}

const onRejection = (reason: unknown) => goAstray('a promise that nobody awaits was rejected', reason);
const onException = (error: Error) => goAstray('an error was thrown and not caught', error);

function goAstray(what: string, error: unknown): void {
  const asked = names();
  const during = asked === '' ? '' : `, while an answer of ${asked} was awaited`;
  const told = new UserError(`${what}${during}: ${describeError(error)}`, {
    hint: 'Await it, or catch its error, in the module that is named.',
    cause: error,
  });
  if (alarms.size === 0) stray ??= told;
  for (const alarm of alarms) alarm(told);
}

function tellSlow(tell: (text: string) => void): void {
  const slow = [...waiting].filter(({ since }) => performance.now() - since > 1000 * PATIENCE_SECONDS);
  for (const { name, since } of slow) {
    const seconds = Math.round((performance.now() - since) / 1000);
    tell(`${name} has not answered for ${seconds} s. timeoutSeconds of a reward module sets a limit.`);
  }
}

const names = () => [...new Set([...waiting].map(({ name }) => name))].join(', ');
