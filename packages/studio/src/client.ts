/** Asks the worker, and keeps its answers for the views. */
import type { RequestName, Requests } from 'grpo/studio';
import { useEffect, useState } from 'preact/hooks';
import type { Files, FromWorker, ReadProgress, ToWorker } from './messages.js';
import DataWorker from './worker.js?worker&inline';

/** What could not be read, in words. */
export interface Failure {
  message: string;
  hint?: string;
}

const worker = new DataWorker();
const waiting = new Map<number, { resolve(output: unknown): void; reject(failure: Failure): void }>();
let last = 0;

worker.addEventListener('message', ({ data }: MessageEvent<FromWorker>) => {
  if (data.kind === 'reading') {
    for (const hear of hearers) hear(data);
    return;
  }
  const one = waiting.get(data.id)!;
  waiting.delete(data.id);
  if (data.kind === 'answer') one.resolve(data.output);
  else one.reject({ message: data.message, ...(data.hint !== undefined && { hint: data.hint }) });
});

const post = (message: ToWorker) => worker.postMessage(message);

const hearers = new Set<(progress: ReadProgress) => void>();

/** Tells how far the worker is with the file that it reads. */
export function onReading(hear: (progress: ReadProgress) => void): () => void {
  hearers.add(hear);
  return () => void hearers.delete(hear);
}

/** Other files than before: everything is asked for again. */
export function useFiles(files: Files): void {
  post({ kind: 'files', files });
  forgetAnswers();
}

export function ask<N extends RequestName>(
  name: N,
  input: Requests[N]['input'],
): Promise<Requests[N]['output']> {
  const id = ++last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve: resolve as (output: unknown) => void, reject });
    post({ kind: 'ask', id, name, input });
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

/** Tells that files changed. */
export async function refresh(paths: readonly string[]): Promise<void> {
  await ask('refresh', { paths });
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
  type Output = Requests[N]['output'];
  const seen = useVersion();
  const key = `${name} ${JSON.stringify(input)}`;
  const [state, setState] = useState<Answer<Output> & { key?: string }>({ isPending: true });
  useEffect(() => {
    if (input === undefined) return;
    const kept = answers.get(key) as Output | undefined;
    if (kept !== undefined) {
      setState({ key, value: kept, isPending: false });
      return;
    }
    let isCurrent = true;
    setState((before) => (before.key === key ? { ...before, isPending: true } : { key, isPending: true }));
    ask(name, input).then(
      (value) => {
        answers.set(key, value);
        if (answers.size > MOST_ANSWERS) answers.delete(answers.keys().next().value!);
        if (isCurrent) setState({ key, value, isPending: false });
      },
      (failure: Failure) => isCurrent && setState({ key, failure, isPending: false }),
    );
    return () => {
      isCurrent = false;
    };
  }, [key, seen]);
  return state.key === key ? state : { isPending: true };
}
