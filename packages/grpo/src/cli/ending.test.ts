import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { type Ended, start } from './grpo.test.helper.js';

/** Far more steps than there is time for, each of milliseconds. */
const ENDLESS = [
  'task.name=arithmetic',
  'rollout.prompts=2',
  'rollout.group=2',
  'rollout.maxNewTokens=8',
  'train.steps=1000000',
  'train.canaries=0',
  'rewards=[{module: spread.ts}]',
  'eval.before=false',
];

const dir = sharedFolder();
beforeAll(() => {
  // Rewards that differ, so that the runs have nothing to remark.
  const spread = `const valueOf = (text) => [...text].reduce((sum, sign) => (31 * sum + sign.codePointAt(0)) % 997, 7);
  export default ({ completions }) => completions.map(valueOf);`;
  writeFileSync(join(dir, 'spread.ts'), spread);
  const slow = `export default async () => {
    console.error('scoring');
    await new Promise((resolve) => setTimeout(resolve, 600_000));
  };`;
  writeFileSync(join(dir, 'slow.ts'), slow);
  const passes = `import { composedLoss } from 'grpo';
  let calls = 0;
  export default (input) => {
    if (++calls === 3) console.error('third pass');
    return composedLoss(input);
  };`;
  writeFileSync(join(dir, 'passes.ts'), passes);
});
/** Starts a training that has done two steps when it is handed over. */
async function training(output: string) {
  const running = start(dir, ['train', ...ENDLESS, `output=${output}`, '--json']);
  await running.says('"step":2');
  return running;
}

/** Expects that a run has saved its steps and released its folder. */
function expectSaved(output: string): number {
  const rows = readFileSync(join(dir, output, 'metrics.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  const { step } = JSON.parse(rows.at(-1)!) as { step: number };
  expect(rows).toHaveLength(step);
  expect(existsSync(join(dir, output, `checkpoints/step-${step}/trainer/state.json`))).toBe(true);
  expect(existsSync(join(dir, output, 'run.lock'))).toBe(false);
  return step;
}

/** Lines of a run on standard error, apart from the device and the memory that it begins with, and the step that the signal came in. */
const said = ({ err }: Ended) =>
  err
    .replace(/^Device: .*\nMemory: .*\n/, '')
    .replace(/^Step \d+ (is abandoned|has changed the weights).*\n/m, '');
const lastObject = ({ out }: Ended) => JSON.parse(out.trimEnd().split('\n').at(-1)!);

describe('a run', () => {
  it('ends with Ctrl-C, is saved and exits with 130', async () => {
    const { child, ended } = await training('once');
    child.kill('SIGINT');
    const run = await ended;
    expect(run, run.err).toMatchObject({ code: 130, signal: null });
    expect(said(run)).toBe('Interrupted: stopping and saving. Ctrl-C again stops at once.\n');
    expect(lastObject(run)).toMatchObject({ interrupted: true, steps: expectSaved('once') });
  });

  it('takes the Ctrl-C that npx passes on for the same one', async () => {
    const { child, ended } = await training('echo');
    for (let i = 0; i < 3; i++) {
      child.kill('SIGINT');
      await sleep(5);
    }
    expect(await ended).toMatchObject({ code: 130, signal: null });
    expectSaved('echo');
  });

  it('abandons a step whose rewards are being waited for', async () => {
    const argv = [...ENDLESS, 'rewards=[{module: slow.ts}]', 'doctor.onFinding=off', 'output=waiting'];
    const { child, ended, says } = start(dir, ['train', ...argv]);
    await says('scoring');
    child.kill('SIGINT');
    const run = await ended;
    expect(run, run.err).toMatchObject({ code: 130, signal: null });
    expect(run.out).toContain('Step 1 is abandoned: a resumed run does it again.\n');
    expect(existsSync(join(dir, 'waiting/checkpoints'))).toBe(false);
  });

  it('finishes a step that has changed the weights, and ends at once with a second Ctrl-C', async () => {
    const endless = ['objective.iterations=1000000', 'objective.oldLogprobs=recompute'];
    const argv = [...ENDLESS, ...endless, 'objective.module=passes.ts', 'doctor.every=0', 'output=twice'];
    const { child, ended, says } = start(dir, ['train', ...argv]);
    await says('third pass');
    child.kill('SIGINT');
    await says('Step 1 has changed the weights already: it is finished first.');
    await sleep(600);
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: null, signal: 'SIGINT' });
    expect(existsSync(join(dir, 'twice/checkpoints'))).toBe(false);
  });

  it.each([
    ['SIGTERM', { code: 143, signal: null }],
    // Its own last act, once everything is saved.
    ['SIGHUP', { code: null, signal: 'SIGHUP' }],
  ] as const)('ends with %s as with the first Ctrl-C, however often it comes', async (signal, end) => {
    const { child, ended } = await training(signal);
    child.kill(signal);
    await sleep(5);
    child.kill(signal);
    const run = await ended;
    expect(run, run.err).toMatchObject(end);
    expect(said(run)).toBe(`${signal}: stopping and saving.\n`);
    expect(lastObject(run)).toMatchObject({ interrupted: true, steps: expectSaved(signal) });
  });

  it('ends when nobody reads its output any more, and is saved', async () => {
    const { child, ended } = await training('pipe');
    child.stdout?.destroy();
    const run = await ended;
    expect(run, run.err).toMatchObject({ code: 141, signal: null });
    expect(said(run)).toBe('');
    expectSaved('pipe');
  });

  it('goes on when nobody reads its messages', async () => {
    const { child, ended, says } = await training('silent');
    child.stderr?.destroy();
    child.kill('SIGTERM');
    await says('"interrupted":true');
    expect(await ended).toMatchObject({ code: 143, signal: null });
    expectSaved('silent');
  });
});

it('a command that does not train ends quietly when nobody reads its output', async () => {
  const { child, ended } = start(dir, ['train', '--help']);
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, signal: null, err: '' });
});
