import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What is printed is compared as plain text, also where a CI server asks for colours.
delete process.env.FORCE_COLOR;

/** The compiled tests whose text matches. */
function testsWith(pattern: RegExp): string[] {
  return ['packages/grpo/dist', 'packages/torch/dist'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.js'))
      .map((name) => `${folder}/${name}`)
      .filter((file) => pattern.test(readFileSync(file, 'utf8'))),
  );
}

/** Tests that replace modules: theirs are loaded by Vite, all others by Node, which takes a fifth of the time. */
const REPLACING = testsWith(/vi\.mock\(/);
const LOADED_BY_NODE = { deps: { external: [/\/packages\/\w+\/(dist|build)\/(?!.*\.test\.js$)/] } };

/**
 * Tests with a process of their own, as those that count its tensors. All others share a process per worker, its
 * modules and a browser: to load the engine for each file took a quarter of the time.
 */
const OWN = [
  'packages/grpo/dist/install.test.js',
  ...testsWith(/\bmemory\(\)|live_(tensors|bytes)/).filter((file) => !REPLACING.includes(file)),
];

/** Files that take longest begin first: at the end a worker would go on alone with one. */
const LONGEST = [
  'lab/selftest',
  'cli/train/processes',
  'run/resume',
  'cli/kill',
  'run/ranks/processes',
  'lab/mutants/campaign',
  'torch/dist/levels',
  'run/every-key',
  'cli/commands',
  'cli/stories',
  'torch/dist/process-group-loss',
].map((name) => `${name}.test.js`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isShared = ({ project }: TestSpecification) => Number(project.config.isolate === false);
    const isLong = ({ moduleId }: TestSpecification) =>
      Number(LONGEST.some((name) => moduleId.endsWith(name)));
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => isShared(a) - isShared(b) || isLong(b) - isLong(a));
  }
}

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'shared process',
          include: [
            'packages/{grpo,torch}/dist/**/*.test.js',
            'packages/studio/build/**/*.test.js',
            'bench/**/*.test.mjs',
          ],
          exclude: [...OWN, ...REPLACING],
          isolate: false,
          server: LOADED_BY_NODE,
        },
      },
      {
        extends: true,
        test: {
          name: 'own process',
          include: OWN,
          server: LOADED_BY_NODE,
        },
      },
      {
        extends: true,
        test: {
          name: 'replaced modules',
          include: REPLACING,
        },
      },
    ],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    maxWorkers: 3,
    testTimeout: 120_000,
    // To delete the folders of a hundred runs takes long on a busy disk.
    hookTimeout: 120_000,
    // A thread each: more would wait for one another. Some tests wait for processes, so there is a worker more than cores.
    env: { GRPO_THREADS: '1' },
  },
});
