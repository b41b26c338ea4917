import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { RunLock } from './run-lock.js';

const lockOf = (folder: string) => join(folder, 'run.lock');
const contentOf = (folder: string) =>
  JSON.parse(readFileSync(lockOf(folder), 'utf8')) as Record<string, unknown>;

function refusal(folder: string): UserError {
  try {
    new RunLock(folder);
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return error as UserError;
  }
  throw new Error('the lock was taken');
}

/** A lock as this process would write it, with some fields changed. */
function writeLock(folder: string, changes: object): void {
  new RunLock(folder)[Symbol.dispose]();
  const lock = new RunLock(folder);
  const content = contentOf(folder);
  lock[Symbol.dispose]();
  writeFileSync(lockOf(folder), JSON.stringify({ ...content, ...changes }));
}

const gone = () => spawnSync(process.execPath, ['--version']).pid;

describe('RunLock', () => {
  it('refuses a second owner with its process and since when, and leaves nothing when it ends', () => {
    const folder = tempFolder();
    const lock = new RunLock(folder);
    const { message, hint } = refusal(folder);
    expect(message).toMatch(
      / is in use by a run that is still running \(process \d+, since \d{4}-\d\d-\d\dT.*Z\)$/,
    );
    expect(message).toContain(`${folder} is in use`);
    expect(message).toContain(`process ${process.pid},`);
    expect(hint).toContain('Wait for it or stop it');
    lock[Symbol.dispose]();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['a process that is gone', () => ({ pid: gone() })],
    ['an earlier start of the machine', () => ({ boot: 'another' })],
  ])('takes over the lock of %s', (_, changes) => {
    const folder = tempFolder();
    writeLock(folder, changes());
    using _lock = new RunLock(folder);
    expect(contentOf(folder).pid).toBe(process.pid);
  });

  it.runIf(process.platform === 'linux')('takes over when another process has got the id', () => {
    const folder = tempFolder();
    writeLock(folder, { start: '1' });
    using _lock = new RunLock(folder);
  });

  it.each(['', '{"pid":', 'null', '{"pid":1}'])(
    'takes over what a power cut left of a lock: %j',
    (content) => {
      const folder = tempFolder();
      writeFileSync(lockOf(folder), content);
      using _lock = new RunLock(folder);
      expect(contentOf(folder).host).toBe(hostname());
    },
  );

  it('names another host, and leaves its lock', () => {
    const folder = tempFolder();
    writeLock(folder, { host: 'far.example', pid: gone() });
    const { message, hint } = refusal(folder);
    expect(message).toMatch(/in use by a run on the host far\.example \(process \d+, since /);
    expect(hint).toContain(`If it is not, delete ${lockOf(folder)}.`);
    expect(contentOf(folder).host).toBe('far.example');
  });

  it('leaves a lock that is no longer its own', () => {
    const folder = tempFolder();
    const lock = new RunLock(folder);
    writeFileSync(lockOf(folder), JSON.stringify({ ...contentOf(folder), since: 'later' }));
    lock[Symbol.dispose]();
    expect(existsSync(lockOf(folder))).toBe(true);
  });

  it('goes on where a process was killed while it took the lock', () => {
    const folder = tempFolder();
    mkdirSync(`${lockOf(folder)}.taking`);
    new RunLock(folder)[Symbol.dispose]();
    expect(readdirSync(folder)).toEqual([]);
  });

  const states: [name: string, prepare: (folder: string) => void][] = [
    ['an empty folder', () => {}],
    ['the lock of a process that is gone', (folder) => writeLock(folder, { pid: gone() })],
    ['a half-written lock', (folder) => writeFileSync(lockOf(folder), '{"pid":')],
  ];
  it.each(states)('of 8 processes that start at once in a folder with %s, one wins', async (_, prepare) => {
    const folder = tempFolder();
    prepare(folder);
    const racers = Array.from({ length: 8 }, () => racer(folder));
    await Promise.all(racers.map(({ says }) => says('ready')));
    for (const { child } of racers) child.stdin!.write('go');
    await Promise.all(racers.map(({ says }) => says('done')));
    const said = racers.map(({ said }) => said());
    expect(said.filter((text) => text.includes('won')).length, said.join('')).toBe(1);
    expect(said.filter((text) => text.includes('is in use by a run that is still running')).length).toBe(7);
    await Promise.all(racers.map(({ end }) => end()));
    expect(readdirSync(folder)).toEqual([]);
  });
});

/** A process that tries to take the lock when it is told to, and holds it until its input ends. */
function racer(folder: string) {
  const script = `
    const { RunLock } = await import(${JSON.stringify(new URL('./run-lock.js', import.meta.url).href)});
    let lock;
    process.stdin.once('data', () => {
      try {
        lock = new RunLock(${JSON.stringify(folder)});
        console.log('won');
      } catch (error) {
        console.log(error.message);
      }
      console.log('done');
    });
    process.stdin.on('end', () => lock?.[Symbol.dispose]());
    console.log('ready');`;
  const child: ChildProcess = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
  const says = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => out.includes(text) && resolve();
      child.stdout!.on('data', look);
      child.on('close', () => reject(new Error(`ended without '${text}': ${out}`)));
      look();
    });
  const end = () =>
    new Promise<void>((resolve) => {
      child.on('close', () => resolve());
      child.stdin!.end();
    });
  return { child, says, said: () => out, end };
}
