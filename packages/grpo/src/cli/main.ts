#!/usr/bin/env node
import { dispatch } from './dispatch.js';
import { commands } from './table.js';

// `grpo train --help | head` closes the pipe early; that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await dispatch(process.argv.slice(2), {
  commands,
  stdout: process.stdout,
  stderr: process.stderr,
  debug: process.env.GRPO_DEBUG === '1',
});
