import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A set-up that cannot go on, in words for the user; no stack is printed for it. */
export class SetupError extends Error {
  override name = 'SetupError';
}

/** How a command ended. `code` is null when it was killed or could not be started. */
export interface Outcome {
  code: number | null;
  /** stdout and stderr in the order of their arrival; empty when they went to the terminal. */
  output: string;
}

/** Options of {@link run}. */
export interface RunOptions {
  /** Variables on top of this process's. */
  env?: Record<string, string>;
  cwd?: string;
  /** Let the person see the output, on stderr; otherwise it is collected. */
  show?: boolean;
}

/** Runs a command without a shell and waits for it. Never throws for a command that fails. */
export function run(command: string, args: string[], options: RunOptions = {}): Promise<Outcome> {
  const env = { ...process.env, ...options.env };
  return new Promise((resolve) => {
    // stdout belongs to programs that read ours, so what is shown goes to stderr.
    const shown = options.show ? 2 : 'pipe';
    const child = spawn(command, args, {
      env,
      cwd: options.cwd,
      stdio: [options.show ? 0 : 'ignore', shown, shown],
    });
    const chunks: Buffer[] = [];
    child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', (error) => resolve({ code: null, output: error.message }));
    child.on('close', (code) => resolve({ code, output: Buffer.concat(chunks).toString('utf8') }));
  });
}

/** The first line that a command prints, or undefined when it does not run. For quick questions only. */
export function firstLine(command: string, args: string[]): string | undefined {
  const { status, stdout } = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return status === 0 ? stdout.split('\n')[0]!.trim() : undefined;
}

/** Whether a program of this name can be run. */
export function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** The last non-empty line of a command's output: where Python and apt say what went wrong. */
export function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1)!.trim();
}
