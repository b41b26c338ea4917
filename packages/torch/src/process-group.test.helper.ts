import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll } from 'vitest';

const started: ChildProcess[] = [];
afterAll(() => {
  for (const child of started) child.kill('SIGKILL');
});

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** From the start of all. */
  seconds: number;
}

/** A process of a group that runs. */
export interface Rank {
  process: ChildProcess;
  ended: Promise<Ended>;
  /** Waits until the process has printed the text. */
  printed(text: string): Promise<void>;
}

/**
 * Starts a process that runs `body`, the inside of an async function of `rank`, `size`, `join(options?)` and `torch`.
 *
 * @param options - of `join`, over those of a group on this machine; without a port it has one from {@link connect}
 */
export function startRank(
  body: string,
  options: { rank: number; size: number; port?: number; servesStore?: boolean },
  env = {},
): Rank {
  const script = `
    import * as torch from ${JSON.stringify(new URL('./index.js', import.meta.url).href)};
    const given = ${JSON.stringify(options)};
    const { rank, size } = given;
    const { tensor } = torch;
    const onServing = (port) => process.send(port);
    const local = { host: '127.0.0.1', port: 0, servesStore: rank === 0, timeoutSeconds: 60, onServing, ...given };
    if (!local.servesStore) local.port ||= await new Promise((told) => process.once('message', told));
    const join = (options) => torch.ProcessGroup.join({ ...local, ...options });
    ${body}`;
  const start = performance.now();
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  started.push(child);
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      child.emit('text');
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => {
    child.emit('text');
    return { code, signal, ...texts, seconds: (performance.now() - start) / 1000 };
  });
  const printed = async (text: string) => {
    while (!texts.stdout.includes(text)) {
      if (child.exitCode !== null) throw new Error(`rank ${options.rank} ended: ${texts.stderr}`);
      await once(child, 'text');
    }
  };
  return { process: child, ended, printed };
}

/** Tells the others where the first serves the store. */
export function connect([first, ...others]: Rank[]): void {
  first!.process.once('message', (port) => {
    for (const other of others) other.process.send(port);
  });
}

/** Starts `size` processes that run `body`; see {@link startRank}. */
export function startRanks(size: number, body: string, options = {}, env = {}): Rank[] {
  const ranks = Array.from({ length: size }, (_, rank) => startRank(body, { rank, size, ...options }, env));
  connect(ranks);
  return ranks;
}

/** What each of `size` processes printed, as JSON. Throws when one fails. */
export async function outputs(size: number, body: string, options = {}, env = {}): Promise<unknown[]> {
  const ranks = startRanks(size, body, options, env);
  return Promise.all(
    ranks.map(async ({ ended }, rank) => {
      const { code, stdout, stderr } = await ended;
      if (code !== 0 || stderr !== '') throw new Error(`rank ${rank} ended with code ${code}: ${stderr}`);
      return JSON.parse(stdout);
    }),
  );
}
