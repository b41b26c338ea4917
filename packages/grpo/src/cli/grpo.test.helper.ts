import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import { dispatch } from './dispatch.js';
import { commands } from './table.js';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));

/** How a command ended. */
export interface Ended {
  /** Exit code; null when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  out: string;
  err: string;
}

/** Runs a command as a process of its own, and kills it after a minute. */
export interface Running {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Waits until standard output and error together contain the text; rejects when the command ends without it. */
  says(text: string): Promise<void>;
}

/** Starts `grpo ARGV` in a folder, with more variables. */
export function start(
  cwd: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Running {
  const child = spawn(process.execPath, [MAIN, ...argv], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, out, err }));
  });
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => (out + err).includes(text) && resolve();
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      child.on('close', () => reject(new Error(`ended without '${text}':\n${out}\n${err}`)));
      look();
    });
  return { child, ended, says };
}

/** Runs `grpo ARGV` in a folder to its end. */
export function grpo(cwd: string, ...argv: string[]): Promise<Ended> {
  return start(cwd, argv).ended;
}

/**
 * Runs `grpo ARGV` in a folder by a call in this process, which takes a tenth of the time of a process of its own.
 * Not for what belongs to the process: signals, colours, a training.
 */
export async function call(cwd: string, ...argv: string[]): Promise<Ended> {
  let [out, err] = ['', ''];
  const stdout = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += text;
    return true;
  });
  const stderr = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text;
    return true;
  });
  const before = process.cwd();
  process.chdir(cwd);
  try {
    const { stdout, stderr } = process;
    const code = await dispatch(argv, { commands, stdout, stderr, debug: false });
    return { code, signal: null, out, err };
  } finally {
    process.chdir(before);
    stdout.mockRestore();
    stderr.mockRestore();
  }
}
