import { defineConfig } from 'vitest/config';

// What is printed is compared as plain text, also where a CI server asks for colours.
delete process.env.FORCE_COLOR;

/**
 * Rooms whose tests share a process and its modules, those of the page a browser. In the others tests count the tensors
 * of the process or replace modules.
 */
const SHARED = [
  ...'audit config doctor errors evaluation hub imitation inspection maths memory objective observe'.split(
    ' ',
  ),
  ...'progress rewards sinks step studio tasks text trace view'.split(' '),
].map((room) => `packages/grpo/dist/${room}/**/*.test.js`);
SHARED.push('packages/studio/build/**/*.test.js');

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'shared process', include: SHARED, isolate: false } },
      {
        extends: true,
        test: {
          name: 'own processes',
          include: ['packages/*/dist/**/*.test.js', 'bench/**/*.test.mjs'],
          exclude: SHARED,
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
