import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { grpo, start } from '../grpo.test.helper.js';
import { ECHO_MS } from '../interrupt.js';

/** A run of milliseconds per step. */
const SMALL = [
  'task.name=arithmetic',
  'rollout.prompts=4',
  'rollout.group=2',
  'rollout.maxNewTokens=6',
  'eval.before=false',
  'eval.limit=2',
  'eval.samples=0',
  'train.canaries=0',
  'doctor.every=0',
  'output=run',
];
const ENDLESS = [...SMALL, 'train.steps=1000000'];

/** The processes that a process has started, and theirs. */
function childrenOf({ pid }: ChildProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}`);

const stepsOf = (folder: string) =>
  readFileSync(join(folder, 'run/metrics.jsonl'), 'utf8').trimEnd().split('\n').length;

/** A run of two processes that has done two steps. */
async function training() {
  const folder = tempFolder();
  const running = start(folder, ['train', ...ENDLESS, '--processes', '2']);
  await running.says('step 2/');
  const ranks = childrenOf(running.child);
  expect(ranks).toHaveLength(2);
  return { folder, ranks, ...running };
}

const goOn = (folder: string, ...more: string[]) => {
  const steps = stepsOf(folder) + 2;
  const running = start(folder, ['train', '--resume', 'run', `train.steps=${steps}`, ...more]);
  return { steps, ...running };
};

describe('a run of two processes', () => {
  it('saves once at Ctrl-C, exits with 130, and goes on in one process', async () => {
    const { folder, ranks, child, ended } = await training();
    child.kill('SIGINT');
    const { code, out, err } = await ended;
    expect(code, err).toBe(130);
    expect(out).toMatch(/Stopped after step \d+; saved\./);
    expect(err).toBe('');
    expect(ranks.filter(isAlive)).toEqual([]);
    const resumed = goOn(folder);
    expect(await resumed.ended).toMatchObject({ code: 0 });
    expect(stepsOf(folder)).toBe(resumed.steps);
  });

  it('leaves nothing running after a second Ctrl-C, whatever it is at', async () => {
    const folder = tempFolder();
    writeFileSync(join(folder, 'busy.mjs'), "export default () => { console.error('busy'); for (;;); };");
    const settings = [...ENDLESS, 'rewards=[{module: busy.mjs}]', 'doctor.onFinding=off'];
    const { child, ended, says } = start(folder, ['train', ...settings, '--processes', '2']);
    await says('busy');
    const ranks = childrenOf(child);
    expect(ranks).toHaveLength(2);
    child.kill('SIGINT');
    await sleep(ECHO_MS + 100);
    expect(ranks.filter(isAlive)).toEqual(ranks);
    child.kill('SIGINT');
    expect((await ended).code).toBe(130);
    expect(ranks.filter(isAlive)).toEqual([]);
  });

  it.each([0, 1])(
    'ends when rank %s is killed, with its name, and goes on in two processes',
    async (rank) => {
      const { folder, ranks, ended } = await training();
      process.kill(ranks[rank]!, 'SIGKILL');
      const { code, err } = await ended;
      expect(code).toBe(137);
      expect(err).toContain(`rank ${rank} (process ${ranks[rank]}) was ended by SIGKILL.`);
      expect(err).toMatch(rank === 0 ? /^rank 1: grpo: .*rank 0/m : /^grpo: .*rank 1/m);
      expect(ranks.filter(isAlive)).toEqual([]);
      const resumed = goOn(folder, '--processes', '2', '--restart');
      expect(await resumed.ended).toMatchObject({ code: 0 });
      expect(stepsOf(folder)).toBe(resumed.steps);
    },
  );

  it('ends as one where a single process is told to, each with the code of an interrupt', async () => {
    const folder = tempFolder();
    const tasks = srun(folder, ['train', ...ENDLESS]);
    await tasks[0]!.says('step 2/');
    tasks[1]!.child.kill('SIGTERM');
    const [first, second] = await Promise.all(tasks.map(({ ended }) => ended));
    expect(first, first!.err).toMatchObject({ code: 143 });
    expect(first!.out).toMatch(/Stopped after step \d+; saved\./);
    expect(second, second!.err).toMatchObject({ code: 143, err: '' });
  });

  it('ends when the process that launched it is killed', async () => {
    const { folder, ranks, child, ended } = await training();
    child.kill('SIGKILL');
    await ended;
    while (ranks.some(isAlive)) await sleep(50);
    expect(existsSync(join(folder, 'run/run.lock'))).toBe(false);
  });

  it('says once what is wrong with its settings', async () => {
    const { code, err } = await grpo(
      tempFolder(),
      'train',
      ...ENDLESS,
      'rollout.group=0',
      '--processes',
      '3',
    );
    expect(code).toBe(2);
    expect(err.match(/rollout\.group/g)).toHaveLength(1);
  });
});

/** Starts two tasks as `srun` does, without Slurm. */
function srun(folder: string, argv: readonly string[]) {
  const shared = {
    ...{ SLURM_JOB_ID: String(process.pid), SLURM_STEP_ID: '0', SLURM_STEP_NUM_TASKS: '2' },
    ...{ SLURM_STEP_NODELIST: 'localhost', SLURM_STEP_TASKS_PER_NODE: '2', SLURM_NODEID: '0' },
  };
  return [0, 1].map((rank) =>
    start(folder, argv, { ...shared, SLURM_PROCID: String(rank), SLURM_LOCALID: String(rank) }),
  );
}

describe('two tasks of srun', () => {
  it('are one run, of which rank 0 speaks', async () => {
    const folder = tempFolder();
    const [first, second] = await Promise.all(
      srun(folder, ['train', ...SMALL, 'train.steps=2']).map(({ ended }) => ended),
    );
    expect(first, first!.err).toMatchObject({ code: 0 });
    expect(first!.out).toContain('Done after 2 steps.');
    expect(second).toMatchObject({ code: 0, out: '', err: '' });
    expect(stepsOf(folder)).toBe(2);
  });

  it.each(['sft', 'expert', 'demo'])('are refused by grpo %s', async (command) => {
    const settings = command === 'demo' ? [] : ['task.name=arithmetic'];
    const [first] = srun(tempFolder(), [command, ...settings]);
    const { code, err } = await first!.ended;
    expect(code).toBe(2);
    expect(err).toContain(`grpo ${command} runs in one process, and this is rank 0 of 2`);
  });
});
