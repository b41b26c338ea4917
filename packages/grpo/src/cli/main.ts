#!/usr/bin/env node
import { EXIT } from './command.js';
import { dispatch } from './dispatch.js';
import { CAUSES, interruptRun } from './interrupt.js';
import { commands } from './table.js';

/** Whoever read the output has seen enough (`grpo train --help | head`), or the terminal is gone: that is no error. */
const CLOSED = new Set<string | undefined>(['EPIPE', 'EIO']);

/** While a run goes on there is another in its place. */
const { exit } = process;

let closed = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (closed) return;
  closed = true;
  const harmless = CLOSED.has(error.code);
  if (!harmless) process.stderr.write(`grpo: cannot write to standard output: ${error.message}\n`);
  if (!interruptRun(error.code === 'EIO' ? 'SIGHUP' : 'closed output'))
    exit.call(process, harmless ? 0 : EXIT.error);
});
// Messages that nobody reads are no reason to stop.
process.stderr.on('error', () => {});

process.exitCode = await dispatch(process.argv.slice(2), {
  commands,
  stdout: process.stdout,
  stderr: process.stderr,
  debug: process.env.GRPO_DEBUG === '1',
});
// A timer that a reward function left running may throw after the command has ended.
let toldOfRest = false;
process.on('uncaughtException', async (error) => {
  process.exitCode ||= EXIT.error;
  if (toldOfRest) return;
  toldOfRest = true;
  const { describeError } = await import('../rewards/describe-error.js');
  process.stderr.write(
    `grpo: all is done and saved, but code that was still running ${describeError(error)}\n`,
  );
});
// An ordinary exit would abort: Node sets the terminal back, and takes it for its own error that there is none.
if (process.exitCode === CAUSES.SIGHUP) process.kill(process.pid, 'SIGHUP');
// A reward function of an abandoned step may still be at work.
if (Object.values<unknown>(CAUSES).includes(process.exitCode)) exit.call(process);
