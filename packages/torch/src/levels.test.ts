import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { cpuLevels } from './index.js';
import { atLevel } from './levels.test.helper.js';

const FILES = ['own-operators', 'segment-attention', 'decode-operators', 'layer-parts', 'adamw'];
// Long for the number of draws, which no level changes.
const LEFT_OUT = '(4096|50257) tokens, ';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Runs the kernels' tests in a process at this level, and returns their output. */
function runKernelTests(level: string): string {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST'));
  const files = FILES.map((name) => fileURLToPath(new URL(`./${name}.test.js`, import.meta.url)));
  const args = [vitest, 'run', '--no-color', '--testNamePattern', `^(?!.*${LEFT_OUT})`, ...files];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: root,
    encoding: 'utf8',
    env: { ...Object.fromEntries(outer), ...atLevel(level) },
  });
  return stdout + stderr;
}

// The highest level is that of the whole suite.
describe('kernels of our own pass their tests', () => {
  const { names, highest } = cpuLevels();
  it.for(names)('at level %s, with libtorch restricted to it', (level, { skip }) => {
    const above = names.indexOf(level) - names.indexOf(highest);
    if (above > 0) skip(`this processor has ${highest} at most`);
    if (above === 0) skip('all tests run at this level');
    const out = runKernelTests(level);
    expect(out).toMatch(new RegExp(`Test Files +${FILES.length} passed \\(${FILES.length}\\)`));
    expect(out).not.toMatch(/failed/);
  });
});
