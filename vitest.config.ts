import { defineConfig } from 'vitest/config';

// What is printed is compared as plain text, also where a CI server asks for colours.
delete process.env.FORCE_COLOR;

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    include: ['packages/*/dist/**/*.test.js', 'packages/studio/build/**/*.test.js', 'bench/**/*.test.mjs'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    // Two workers with a thread each: more threads than cores would wait for one another.
    env: { GRPO_THREADS: '1' },
  },
});
