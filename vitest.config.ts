import { defineConfig } from 'vitest/config';

// The tests run as compiled: what is tested is what is shipped.
export default defineConfig({
  test: { include: ['packages/*/dist/**/*.test.js'], pool: 'forks', maxWorkers: 2, testTimeout: 120_000 },
});
