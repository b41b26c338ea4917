/** Runs of real processes, which find each other on this machine. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

/** Where a process ends by itself. */
export interface Death {
  rank: number;
  at: 'sample' | 'score' | 'objective' | 'sum' | 'checkpoint';
  /** How often it has come there before. */
  after: number;
}

/** A run; half of the vocabulary is good, half is not. */
export interface ProcessesRun {
  output: string;
  settings: readonly string[];
  resume?: boolean;
  death?: Death;
}

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string;
}

const moduleOf = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

const SCRIPT = `
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { ProcessGroup, setThreads } from '@grpo/torch';
const { rank, size, run } = JSON.parse(process.env.RANK_OF_TEST);
const { openRun } = await import(${moduleOf('../open-run.js')});
const { trainGrpo } = await import(${moduleOf('../train-grpo.js')});
const { follow } = await import(${moduleOf('./follow.js')});
const { stages: standard } = await import(${moduleOf('../../step/stages.js')});
const { resolveConfig } = await import(${moduleOf('../../config/index.js')});
setThreads(1);
const { death } = run;
const halfOfTheTokens = async (_task, _problems, groups) => {
  const values = groups.flat().map(({ ids }) => ids.filter((id) => id % 2 === 0).length / ids.length);
  const [columns, unscored] = [[Float64Array.from(values)], new Uint8Array(values.length)];
  return { names: ['even'], weights: [1], columns, unscored, failures: [] };
};
let times = 0;
const come = (at) => {
  if (death?.rank === rank && death.at === at && times++ >= death.after) process.kill(process.pid, 'SIGKILL');
};
const dying = (at, stage) => (...args) => {
  come(at);
  return stage(...args);
};
const onServing = (port) => process.send(port);
const port = rank === 0 ? 0 : await new Promise((told) => process.once('message', told));
const where = { rank, size, port, host: '127.0.0.1', servesStore: rank === 0, onServing, timeoutSeconds: 60 };
const group = size > 1 ? await ProcessGroup.join(where) : undefined;
const peers = group && {
  rank, size, lost: group.lost,
  sum: dying('sum', (tensors) => group.sum(tensors)),
  ...Object.fromEntries(['broadcast', 'gather', 'progress', 'fail'].map((name) => [name, group[name].bind(group)])),
};
const stages = {
  sample: dying('sample', standard.sample),
  score: dying('score', halfOfTheTokens),
  objective: dying('objective', standard.objective),
};
const resolved = resolveConfig({ command: 'train', env: {}, settings: ['output=' + run.output, ...run.settings] });
let session;
try {
  if (rank > 0) await follow(resolved, peers, { stages });
  else {
    session = await openRun(resolved, { resume: run.resume, ...(peers && { peers }) });
    const { renameSync } = fs;
    fs.renameSync = (from, to) => {
      if (/checkpoints.step-\\d+$/.test(to)) come('checkpoint');
      renameSync(from, to);
    };
    syncBuiltinESMExports();
    await trainGrpo(session, stages);
  }
  await session?.[Symbol.asyncDispose]();
  await group?.dispose();
} catch (error) {
  await session?.[Symbol.asyncDispose]();
  console.error(error.message);
  process.exit(1);
}
`;

/** Runs so many processes until all have ended; those that hang are ended with the test. */
export async function runProcesses(size: number, run: ProcessesRun): Promise<Ended[]> {
  const processes = Array.from({ length: size }, (_, rank) =>
    spawn(process.execPath, ['--input-type=module', '-e', SCRIPT], {
      cwd: new URL('.', import.meta.url),
      env: { ...process.env, RANK_OF_TEST: JSON.stringify({ rank, size, run }) },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    }),
  );
  const [first, ...others] = processes;
  first!.once('message', (port) => {
    for (const other of others) other.send(port);
  });
  const ended = processes.map(async (child): Promise<Ended> => {
    onTestFinished(() => void child.kill('SIGKILL'));
    let stderr = '';
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const [code, signal] = await once(child, 'close');
    return { code, signal, stderr };
  });
  return await Promise.all(ended);
}
