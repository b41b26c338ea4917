import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// What is printed is compared as plain text, also where a CI server asks for colours.
delete process.env.FORCE_COLOR;

const FOLDERS = ['packages/grpo/dist', 'packages/torch/dist', 'packages/studio/build'];

const testsIn = (folder: string, ending: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`);

/** All tests: compiled ones, and those of the benchmarks. */
const ALL = [...FOLDERS.flatMap((folder) => testsIn(folder, '.test.js')), ...testsIn('bench', '.test.mjs')];

/** The tests whose text matches. */
const testsWith = (pattern: RegExp): string[] =>
  ALL.filter((file) => pattern.test(readFileSync(file, 'utf8')));

const HELPER = /'(\.[^']*\.test\.helper\.js)'/g;
const STARTING = /'(node:child_process|playwright-core)'/;

/** Whether a compiled test, or a helper of it, starts programs or browsers. */
function startsPrograms(file: string): boolean {
  const text = readFileSync(file, 'utf8');
  const helpers = [...text.matchAll(HELPER)].map(([, path]) => join(dirname(file), path!));
  return STARTING.test(text) || helpers.some(startsPrograms);
}

/** Tests that start programs, as a user does, whole catalogues, and hundreds of steps: more than half of the time of all. */
const PROGRAMS = [
  ...ALL.filter(startsPrograms),
  ...['lab/selftest', 'lab/mutants/campaign', 'run/every-key', 'run/leak'].map(
    (name) => `packages/grpo/dist/${name}.test.js`,
  ),
];

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

/** The projects of some tests: those that share a process per worker, and those that do not. */
function projectsOf(name: string, isOne: (file: string) => boolean) {
  const others = (file: string) => !OWN.includes(file) && !REPLACING.includes(file);
  const kinds = [
    { name, include: ALL.filter(others), isolate: false, server: LOADED_BY_NODE },
    { name: `${name}, own process`, include: OWN, server: LOADED_BY_NODE },
    { name: `${name}, replaced modules`, include: REPLACING },
  ];
  return kinds
    .map((kind) => ({ ...kind, include: kind.include.filter(isOne) }))
    .filter(({ include }) => include.length > 0)
    .map((test) => ({ extends: true as const, test }));
}

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    projects: [
      ...projectsOf('tests', (file) => !PROGRAMS.includes(file)),
      ...projectsOf('programs', (file) => PROGRAMS.includes(file)),
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
