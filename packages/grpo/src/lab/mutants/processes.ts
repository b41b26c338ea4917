/** Runs trials in processes of their own: a mutant may hang, crash, or spoil what it touches. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import type { TrialRequest } from './trial-runs.js';

const TRIAL = fileURLToPath(new URL('./trial.js', import.meta.url));

/** A clean trial of a mutant takes about two seconds; a loop without an end takes this. */
const LIMIT_MS = 40_000;

/** How a trial ended: with a result, or by itself, with the last words of its standard error. */
export type Ended<T> = { result: T } | { crash: string };

/** @param signal - kills the process */
export async function tryIn<T>(
  request: TrialRequest,
  options: { signal?: AbortSignal; coverage?: string; limit?: number } = {},
): Promise<Ended<T>> {
  const { signal, coverage, limit = LIMIT_MS } = options;
  const { result } = request;
  const file = `${result}.request.json`;
  writeFileSync(file, JSON.stringify(request));
  const started = performance.now();
  const child = spawn(process.execPath, ['--max-old-space-size=1024', TRIAL, file], {
    stdio: ['ignore', 'inherit', 'pipe'],
    // A mutant that takes a text for a path writes here, not where the campaign was started.
    cwd: dirname(result),
    env: {
      ...process.env,
      OMP_NUM_THREADS: '1',
      ...(coverage !== undefined && { NODE_V8_COVERAGE: coverage }),
    },
    timeout: limit,
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  await new Promise<void>((resolve) => {
    child.on('close', () => resolve());
    child.on('error', () => resolve());
  });
  signal?.throwIfAborted();
  try {
    if (existsSync(result)) return { result: deserialize(readFileSync(result)) as T };
    const isLate = performance.now() - started >= limit;
    return { crash: isLate ? `no end after ${limit / 1000} s` : lastWords(errors) };
  } finally {
    for (const path of [file, result, `${result}.run`]) rmSync(path, { recursive: true, force: true });
  }
}

/** The line that names the error. */
function lastWords(errors: string): string {
  const lines = errors.split('\n').filter((line) => line.trim() !== '');
  return (lines.find((line) => /^\S*Error\b/.test(line)) ?? lines.at(-1) ?? 'no words').slice(0, 200);
}
