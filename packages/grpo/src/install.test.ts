import { readFileSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Example, markdownExamples, tsdocExamples } from './examples.test.helper.js';
import { Project } from './install.test.helper.js';

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** The page for TypeScript users: its programs share a folder, and run in their order. */
const PAGE = markdownExamples(read('docs/library.md'));
/** The assignment's functions: a program, and the examples of each. */
const CS336 = markdownExamples(read('docs/cs336.md'));
const CS336_TSDOC = [
  'answers',
  'dpo',
  'log-probs',
  'masked',
  'micro-batch',
  'packed-sft',
  'policy-loss',
  'rewards',
  'tokenize',
].flatMap((name) => tsdocExamples(`cs336-${name}`, read(`packages/grpo/src/cs336/${name}.ts`)));
const TSDOC = [
  'index',
  'tasks/define',
  'library/run',
  'library/replay-step',
  'library/run-step',
  'library/tiny-model',
  'rewards/each',
  'view/read-step',
].flatMap((path) => tsdocExamples(path.replace('/', '-'), read(`packages/grpo/src/${path}.ts`)));

const TSCONFIG = { strict: true, module: 'nodenext', target: 'es2022', noEmit: true };

const WRONG = `
import { defineTask, train } from 'grpo';
const task = defineTask({
  name: 'wrong',
  rows: [{ question: 'a', answer: 1 }],
  // @ts-expect-error there is no such column
  prompt: (row) => row.qestion,
  rewards: {
    // @ts-expect-error nor this one
    right: (completion, row) => Number(completion === row.anwser),
    // @ts-expect-error a reward is a number
    text: (completion) => completion,
    // @ts-expect-error a column of another type
    length: { each: (completion, row) => completion.length - row.question, weight: 1 },
    batch: { batch: ({ rows }) => rows.map(({ answer }) => answer) },
  },
});
const column: number = task.train[0].row.answer;
// @ts-expect-error no such setting
await train({ model: 'm', task, settings: { rolout: {} }, onStep: (row) => row.step - column });
// @ts-expect-error what the task gives is no setting
await train({ model: 'm', task, settings: { task: {} } });
`;

const PLAIN = `
import { defineTask, train, UserError, writeTinyModel } from 'grpo';
const task = defineTask({
  name: 'plain', rows: ['a', 'b'], prompt: (row) => row, rewards: { long: (text) => text.length },
});
const model = await writeTinyModel('models/plain');
const settings = { train: { steps: 1 }, rollout: { prompts: 1, group: 2, maxNewTokens: 4 } };
const { steps, output } = await train({ model, task, settings, output: 'runs/plain', onStep: (row) => console.log(row) });
console.log(steps, output);
await train({ model, task, settings: { rollout: { grup: 3 } } }).catch((error) => console.log(error.message));
`;

let project: Project;
beforeAll(() => {
  project = new Project();
  for (const { file, code } of [...PAGE, ...CS336, ...TSDOC, ...CS336_TSDOC]) project.write(file, code);
  project.write('wrong.ts', WRONG);
  project.write('plain.mjs', PLAIN);
  project.write('tsconfig.json', JSON.stringify({ compilerOptions: TSCONFIG, include: ['*.ts'] }));
}, 120_000);
afterAll(() => rmSync(project.dir, { recursive: true, force: true }));

describe('the tarballs', () => {
  it('hold what is used, and nothing of the tests', () => {
    for (const [name, { files, size }] of Object.entries(project.tarballs)) {
      expect(files, name).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'package.json']));
      expect(files.filter((file) => /\.test\.|fixture|\.map$|tsbuildinfo|^src|^build/.test(file))).toEqual(
        [],
      );
      expect(size, name).toBeLessThan(5_000_000);
    }
    expect(project.tarballs['@grpo/torch']!.files).toContain('native/binding/dispatch.cc');
    for (const name of ['@grpo/torch', 'grpo'])
      expect(project.tarballs[name]!.files).toContain('dist/index.d.ts');
    expect(project.tarballs['@grpo/studio']!.files.filter((file) => file.startsWith('dist/')).sort()).toEqual(
      ['dist/index.html', 'dist/page.css', 'dist/page.js'],
    );
  });

  it('let nobody in but by the front door', () => {
    for (const path of ['grpo/dist/run/open-run.js', 'grpo/package.json', '@grpo/torch/dist/native.js']) {
      const { err } = project.node('--input-type=module', '-e', `await import('${path}')`);
      expect(err).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED');
    }
  });
});

describe('an installed package', () => {
  it('says what to run where libtorch is needed and not set up, and works where it is not', () => {
    const { code, out, err } = project.node('plain.mjs');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('libtorch is not set up yet');
    expect(err).toContain('Run: npx grpo setup');
    const env = project.npx('grpo', 'env');
    expect(env).toMatchObject({ code: 0, err: '' });
    expect(env.out).toMatch(/^engine +libtorch is not set up yet/m);
  });

  it('is set up by npx grpo setup', () => {
    const setup = project.npx('grpo', 'setup');
    expect(setup, setup.err).toMatchObject({ code: 0 });
    expect(setup.err).not.toContain('Building');
    expect(setup.out).toMatch(/^libtorch \d/);
    const again = project.npx('grpo', 'setup');
    expect(again).toEqual({ code: 0, out: setup.out, err: '' });
  });

  it('trains from a plain JavaScript module, which refuses what TypeScript would', () => {
    const { code, out, err } = project.node('plain.mjs');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/step: 1,\n +reward: \d/);
    expect(out).toContain('1 runs/plain\n');
    expect(out).toContain(
      'Unknown key rollout.grup (settings of train()). The nearest known key is rollout.group.',
    );
  });

  it('is typed from the row to the reward', () => {
    expect(PAGE.length).toBeGreaterThan(5);
    expect(TSDOC.length).toBeGreaterThan(5);
    const { code, out } = project.node('node_modules/typescript/bin/tsc', '-p', '.');
    expect({ code, out }).toEqual({ code: 0, out: '' });
  });

  it('runs the programs of docs/library.md', () => {
    const { code, out, err } = run(PAGE);
    // The doctor may remark that so small a model does not end by itself.
    const unexpected = err.replace(/^step \d+: B16\.log warn: .*\n/gm, '');
    expect({ code, unexpected }).toEqual({ code: 0, unexpected: '' });
    expect(out).toMatch(/^1 0\.0\d\d$/m);
    const learnt = Number(/^40 (\S+)$/m.exec(out)?.[1]);
    expect(learnt).toBeGreaterThan(0.1);
    expect(out).toContain("{ value: 'sums', source: 'in code' }");
  });

  it('runs the examples of its documentation in the editor', () => {
    const { code, out, err } = run(TSDOC);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^1 1$/m);
  });

  it('runs the program of docs/cs336.md, which learns, and the examples of grpo/cs336', () => {
    expect(CS336_TSDOC).toHaveLength(16);
    const { code, out, err } = run([...CS336, ...CS336_TSDOC]);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    const rewards = [...out.matchAll(/^\d+ (\d\.\d{3})$/gm)].map(([, reward]) => Number(reward));
    expect(rewards).toHaveLength(20);
    expect(rewards.at(-1)).toBeGreaterThan(0.3);
    expect(out).toContain('-0.375 [ -0, -0.25, 0.125, 0.125 ]');
  });
});

/** Runs programs one after another in one process: each would load the engine anew. */
function run(examples: Example[]) {
  project.write('all.ts', examples.map(({ file }) => `await import('./${file}');\n`).join(''));
  return project.npx('jiti', 'all.ts');
}
