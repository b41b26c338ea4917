import { defineConfig } from 'vitest/config';

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: {
    include: ['packages/*/dist/**/*.test.js'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    // Two workers with a thread each: more threads than cores would wait for one another.
    env: { GRPO_THREADS: '1' },
  },
});
