import { defineConfig } from 'vitest/config';

// What is printed is compared as plain text, also where a CI server asks for colours.
delete process.env.FORCE_COLOR;

/** Rooms that keep nothing between tests: theirs need not load every module anew, and the page's share a browser. */
const PURE = [
  ...['config', 'doctor', 'maths', 'memory', 'studio', 'tasks', 'text', 'trace', 'view'].map(
    (room) => `packages/grpo/dist/${room}/**/*.test.js`,
  ),
  'packages/studio/build/**/*.test.js',
];

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
      {
        extends: true,
        test: {
          name: 'all others',
          include: ['packages/*/dist/**/*.test.js', 'bench/**/*.test.mjs'],
          exclude: PURE,
        },
      },
    ],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    // Two workers with a thread each: more threads than cores would wait for one another.
    env: { GRPO_THREADS: '1' },
  },
});
