import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { grpo } from '../grpo.test.helper.js';

const SMALL = [
  ...['task.name=arithmetic', 'rollout.prompts=2', 'rollout.group=4', 'rollout.maxNewTokens=6'],
  ...['train.steps=2', 'eval.before=false', 'eval.limit=4', 'eval.samples=0', 'output=sweep', 'threads=1'],
];
/** Random bytes differ in it. */
const REWARD =
  'export default ({ completions }) => completions.map((text) => (text.codePointAt(0) ?? 0) % 2);';

const SWEEP = ['--sweep', 'kl.beta=0,0.5', '--sweep', 'optimizer.learningRate=1e-3,1e30'];

it('runs a grid on one data order, and goes on after an arm that fails', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'odd.mjs'), REWARD);
  const { code, out } = await grpo(folder, 'train', ...SWEEP, ...SMALL, 'rewards=[{module: odd.mjs}]');
  expect(out.match(/^Memory: about .*most in \w+: /gm)).toHaveLength(4);
  const table = out.slice(out.indexOf('\nbeta  ') + 1);
  expect(table).toMatch(/^beta\s+learningRate\s+steps\s+reward\s+evaluated\s+against the first/);
  expect(table).toMatch(/\n0\s+1e-3\s+2 /);
  expect(table).toMatch(/\n0\.5\s+1e-3\s+2 /);
  expect(table).toMatch(/kl\.beta=0 optimizer\.learningRate=1e30 ended early: /);
  expect(code).toBe(3);
  const promptsOf = (arm: string) =>
    readFileSync(join(folder, 'sweep', arm, 'completions.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).prompt_text);
  expect(promptsOf('kl.beta=0 optimizer.learningRate=1e-3')).toEqual(
    promptsOf('kl.beta=0.5 optimizer.learningRate=1e-3'),
  );
});

it('goes on with arms that were not finished, and has all of them in the table', async () => {
  const folder = tempFolder();
  const [arms, longer] = [
    ['--sweep', 'kl.beta=0,0.5'],
    SMALL.map((text) => text.replace('steps=2', 'steps=3')),
  ];
  await grpo(folder, 'train', '--sweep', 'kl.beta=0', ...SMALL);
  const { code, out } = await grpo(folder, 'train', '--json', '--resume', 'sweep', ...arms, ...longer);
  expect(code).toBe(0);
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.slice(0, -1).map(({ arm, step }) => `${arm} ${step}`)).toEqual([
    '1/2 3',
    '2/2 1',
    '2/2 2',
    '2/2 3',
  ]);
  expect(lines.at(-1)).toMatchObject({
    done: true,
    sweep: [
      { settings: ['kl.beta=0'], steps: 3, because: null },
      { settings: ['kl.beta=0.5'], steps: 3, because: null },
    ],
  });
});

it('says so when no arm has done a step', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'broken.mjs'), "export default () => { throw new Error('no such judge'); };");
  const sweep = ['--sweep', 'kl.beta=0,0.5', ...SMALL, 'rewards=[{module: broken.mjs}]'];
  const { code, out } = await grpo(folder, 'train', ...sweep);
  const end = out.slice(out.indexOf('\nNo arm'));
  expect(end).toMatch(
    /^\nNo arm has done a step\.\nkl\.beta=0 ended early: .*no such judge(.*\n)+kl\.beta=0\.5 ended early: (.*\n)+Runs: sweep\n$/,
  );
  expect(code).toBe(3);
});

it('checks the settings of all arms before the first begins', async () => {
  const folder = tempFolder();
  const { code, err } = await grpo(
    folder,
    'train',
    '--sweep',
    'rollout.group=4,none',
    ...SMALL.filter((text) => !text.includes('group')),
  );
  expect(code).toBe(2);
  expect(err).toContain('rollout.group: expected');
  expect(existsSync(join(folder, 'sweep'))).toBe(false);
});
