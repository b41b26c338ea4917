/** Asks the workers, and keeps their answers for the views. */
import type { RequestName, Requests } from 'grpo/studio';
import { useEffect, useState } from 'preact/hooks';
import type { Failure, Files, FromWorker, ReadProgress, ToWorker } from './messages.js';
import DataWorker from './worker.js?worker&inline';

/** Requests that take seconds of a large run have a worker of their own: the others do not wait for them. */
const LONG: ReadonlySet<RequestName> = new Set(['report', 'stepWhole']);

const waiting = new Map<number, { resolve(output: unknown): void; reject(failure: Failure): void }>();
let last = 0;

let files: Files | undefined;
const workers: { quick?: Worker; long?: Worker } = {};

/** The worker of a kind, made when it is first asked. */
function workerOf(kind: keyof typeof workers): Worker {
  workers[kind] ??= startWorker();
  return workers[kind];
}

function startWorker(): Worker {
  const worker = new DataWorker();
  worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'reading') {
      for (const hear of hearers) hear(data);
      return;
    }
    const one = waiting.get(data.id)!;
    waiting.delete(data.id);
    if (data.kind === 'answer') one.resolve(data.output);
    else one.reject(data);
  });
  if (files) post(worker, { kind: 'files', files });
  return worker;
}

const post = (worker: Worker, message: ToWorker) => worker.postMessage(message);

const hearers = new Set<(progress: ReadProgress) => void>();

/** Reports how far the worker is with the file that it reads. */
export function onReading(hear: (progress: ReadProgress) => void): () => void {
  hearers.add(hear);
  return () => void hearers.delete(hear);
}

/** Gives the workers other files, and asks again for all that is shown. */
export function useFiles(given: Files): void {
  files = given;
  for (const worker of Object.values(workers)) post(worker, { kind: 'files', files });
  // It is ready by the time that something is asked.
  workerOf('quick');
  forgetAnswers();
}

export const ask = <N extends RequestName>(
  name: N,
  input: Requests[N]['input'],
): Promise<Requests[N]['output']> => askOf(workerOf(LONG.has(name) ? 'long' : 'quick'), name, input);

function askOf<N extends RequestName>(
  worker: Worker,
  name: N,
  input: Requests[N]['input'],
): Promise<Requests[N]['output']> {
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (output: unknown) => void, reject });
    post(worker, { kind: 'ask', id, name, input });
  });
}

/** An answer that may not be there yet; while a newer one is awaited, the last one stays. */
export interface Answer<T> {
  value?: T;
  failure?: Failure;
  isPending: boolean;
}

const answers = new Map<string, unknown>();
const MOST_ANSWERS = 40;

/** Counts up when files have changed: what is shown is asked for again. */
let version = 0;
const listeners = new Set<() => void>();

/** Tells the workers which files changed, and asks again for all that is shown. */
export async function refresh(paths: readonly string[]): Promise<void> {
  await Promise.all(Object.values(workers).map((worker) => askOf(worker, 'refresh', { paths })));
  forgetAnswers();
}

function forgetAnswers(): void {
  answers.clear();
  version++;
  for (const listener of listeners) listener();
}

function useVersion(): number {
  const [seen, setSeen] = useState(version);
  useEffect(() => {
    const listener = () => setSeen(version);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return seen;
}

/**
 * The answer to a request, asked for again when the input or the files change.
 *
 * @param input - nothing is asked while it is undefined
 */
export function useAnswer<N extends RequestName>(
  name: N,
  input: Requests[N]['input'] | undefined,
): Answer<Requests[N]['output']> {
  return useAnswers(name, [input])[0]!;
}

/** The answers to one request with several inputs. */
export function useAnswers<N extends RequestName>(
  name: N,
  inputs: readonly (Requests[N]['input'] | undefined)[],
): readonly Answer<Requests[N]['output']>[] {
  type Output = Requests[N]['output'];
  const seen = useVersion();
  const keys = inputs.map((input) => `${name} ${JSON.stringify(input)}`);
  const [states, setStates] = useState<ReadonlyMap<string, Answer<Output>>>(new Map());
  useEffect(() => {
    let isCurrent = true;
    const put = (key: string, answer: Answer<Output>) => {
      if (isCurrent) setStates((before) => new Map(before).set(key, answer));
    };
    setStates((before) => new Map([...before].filter(([key]) => keys.includes(key))));
    for (const [i, key] of keys.entries()) {
      const input = inputs[i];
      if (input === undefined) continue;
      const kept = answers.get(key) as Output | undefined;
      if (kept !== undefined) {
        put(key, { value: kept, isPending: false });
        continue;
      }
      setStates((before) => new Map(before).set(key, { ...before.get(key), isPending: true }));
      ask(name, input).then(
        (value) => {
          answers.set(key, value);
          if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value!);
          put(key, { value, isPending: false });
        },
        (failure: Failure) => {
          if (!isCurrent) return;
          // What was read before the server ended stays.
          setStates((before) =>
            new Map(before).set(key, { ...(failure.isLost && before.get(key)), failure, isPending: false }),
          );
        },
      );
    }
    return () => {
      isCurrent = false;
    };
  }, [keys.join('\n'), seen]);
  return keys.map((key) => states.get(key) ?? { isPending: true });
}
