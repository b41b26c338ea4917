import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

/** The processes of a run on this machine, started. */
export interface Launched {
  /** Exit code of the process that failed first, else that of rank 0; 128 and its number for a signal. */
  ended: Promise<number>;
  /** Sends a signal to all that are left. */
  send(signal: NodeJS.Signals): void;
}

/**
 * After one has ended, the others notice by themselves within 10 s, and have 15 s more to leave what they are at. This is
 * for those that cannot.
 */
const PATIENCE_MS = 26_000;

/**
 * Starts the processes of a run on this machine, with the variables that torchrun sets. Rank 0 has the terminal; the others
 * only say what goes wrong. They are started once rank 0 joins: what is wrong with the settings is said once.
 *
 * @param argv - script and its arguments
 * @param note - is told of a process that could not say itself how it ended
 */
export function launch(
  argv: readonly string[],
  size: number,
  note: (text: string) => void,
  patienceMs = PATIENCE_MS,
): Launched {
  const shared = {
    ...{ WORLD_SIZE: String(size), LOCAL_WORLD_SIZE: String(size) },
    MASTER_ADDR: '127.0.0.1',
  };
  const running = new Map<number, ChildProcess>();
  let failed: number | undefined;
  let isSignalled = false;
  let patience: NodeJS.Timeout | undefined;
  const send = (signal: NodeJS.Signals) => {
    isSignalled = true;
    for (const child of running.values()) child.kill(signal);
  };
  const endOthers = () => {
    for (const [rank, child] of running)
      note(`${nameOf(rank, child)} did not end by itself after the others had, and is killed.`);
    send('SIGKILL');
  };
  const ended = new Promise<number>((resolve, reject) => {
    const start = (rank: number, port: number) => {
      const child = spawn(process.execPath, [...process.execArgv, ...argv], {
        env: {
          ...{ ...process.env, ...shared, MASTER_PORT: String(port) },
          ...{ RANK: String(rank), LOCAL_RANK: String(rank) },
        },
        stdio: [
          ...(rank === 0 ? (['inherit', 'inherit'] as const) : (['ignore', 'ignore'] as const)),
          'inherit',
          'ipc',
        ],
      });
      running.set(rank, child);
      child.once('error', reject);
      child.once('exit', (code, signal) => {
        running.delete(rank);
        const result = code ?? 128 + constants.signals[signal!];
        if (result !== 0) failed ??= result;
        if (signal && !isSignalled) note(`${nameOf(rank, child)} was ended by ${signal}.`);
        // Interrupted processes have agreed on where to stop, and rank 0 may be saving.
        const isFailure = !isSignalled && (signal !== null || (result !== 0 && result < 128));
        if (rank === 0 || isFailure) patience ??= setTimeout(endOthers, patienceMs);
        if (running.size > 0) return;
        clearTimeout(patience);
        resolve(failed ?? 0);
      });
      return child;
    };
    // Its store takes a port that is free: one that was looked for before could be another's by then.
    start(0, 0).once('message', (port) => {
      for (let rank = 1; rank < size; rank++) start(rank, Number(port));
    });
  });
  return { ended, send };
}

/** Has the process that launched this one start the others, which find its store at the port. */
export function startOthers(port: number): void {
  process.send?.(port);
}

const nameOf = (rank: number, { pid }: ChildProcess) => `rank ${rank} (process ${pid})`;
