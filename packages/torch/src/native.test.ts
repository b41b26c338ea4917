import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { CpuLevels } from './native.js';

const index = new URL('./index.js', import.meta.url);

/** Runs a program in a process of its own, and returns what it prints. */
function runAlone(program: string, env: Record<string, string> = {}): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return stdout + stderr;
}

/** The same for one that has the package as `torch`. */
const run = (program: string, env?: Record<string, string>) =>
  runAlone(`import * as torch from '${index}';\n${program}`, env);

it('is loaded by the first use, not by the import', () => {
  const loaded =
    "const loaded = () => process.report.getReport().sharedObjects.some((path) => path.endsWith('torch.node'));";
  const out = run(`${loaded}
    console.log(torch.dtypeSize('float32'), typeof torch.add, loaded());
    console.log(torch.add(torch.tensor([1]), 2).item(), loaded());`);
  expect(out).toBe('4 function false\n3 true\n');
});

it('has its operators also where it was loaded before they were known', () => {
  const out = runAlone(`
    const { native } = await import('${new URL('./native.js', import.meta.url)}');
    native.version();
    const torch = await import('${index}');
    console.log(torch.add(torch.tensor([1]), 2).item());`);
  expect(out).toBe('3\n');
});

it('is the one of the clone, also where links to it are not followed', () => {
  const link = new URL('../../../node_modules/@grpo/torch/dist/index.js', import.meta.url);
  const program = `import * as torch from '${link}'; console.log(torch.tensor([3]).item());`;
  expect(runAlone(program, { NODE_PRESERVE_SYMLINKS: '1' })).toBe('3\n');
});

it('is asked for by name where it is not set up, at every use', () => {
  const attempts = [
    'torch.tensor([1])',
    'torch.zeros([1])',
    'torch.getThreads()',
    "torch.unsafe.call('aten::zeros', [1])",
  ];
  const out = run(
    attempts
      .map((code) => `try { ${code}; } catch (error) { console.log(error.name, '|', error.message); }`)
      .join('\n'),
    { LIBTORCH: '/nowhere' },
  );
  const line = 'SetupError | libtorch is not set up yet for LIBTORCH=/nowhere. Run: npx grpo setup\n';
  expect(out).toBe(line.repeat(attempts.length));
});

it('refuses an impossible number of threads', () => {
  const out = run('try { torch.ones([1]); } catch (error) { console.log(error.message); }', {
    GRPO_THREADS: 'two',
  });
  expect(out).toBe("GRPO_THREADS must be a whole number of at least 1, found 'two'\n");
});

describe('GRPO_CPU_LEVEL', () => {
  const levels = (level: string) =>
    run(
      'try { console.log(JSON.stringify(torch.cpuLevels())); } catch (error) { console.log(error.message); }',
      {
        GRPO_CPU_LEVEL: level,
      },
    );

  it('caps the instruction sets of kernels of our own', () => {
    const { names, highest, chosen } = JSON.parse(levels('')) as CpuLevels;
    expect(chosen).toBe(highest);
    for (const [i, name] of names.entries()) {
      const lower = Math.min(i, names.indexOf(highest));
      expect(JSON.parse(levels(name))).toEqual({ names, highest, chosen: names[lower] });
    }
  });

  it('refuses a level that there is not', () => {
    expect(levels('AVX2')).toBe(
      "GRPO_CPU_LEVEL must be one of base, avx2, avx512, avx512_bf16, amx, found 'AVX2'\n",
    );
  });
});
