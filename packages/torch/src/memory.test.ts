import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { AdamW, empty, emptyCache, isOutOfMemory, memory, ones, type Tensor, tensor, tidy } from './index.js';

const MiB = 2 ** 20;

/** Runs a module in a process of its own, whose memory is its alone, and returns the number that it prints. */
function measure(body: string): number {
  const code = `import { byteParts, empty, full, keep, memory, tidy } from '${new URL('./index.js', import.meta.url).href}';\n${body}`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return Number(child.stdout);
}

describe('tensors that nobody disposes', () => {
  it('are freed by the collector in a loop that never yields: 1,500 MiB in less than 150', () => {
    const peak = measure(`
      full([${MiB / 4}], 0.5).dispose();
      const before = process.memoryUsage.rss();
      let peak = 0;
      for (let i = 0; i < 1500; i++) {
        full([${MiB / 4}], 0.5);
        peak = Math.max(peak, process.memoryUsage.rss());
      }
      console.log(peak - before);`);
    expect(peak / MiB).toBeGreaterThan(1); // the memory is touched
    expect(peak / MiB).toBeLessThan(150);
  });

  it('are counted until then', () => {
    expect(measure('globalThis.kept = full([1024], 0.5); console.log(memory().bytes)')).toBe(4096);
  });
});

describe('a collection of the whole heap', () => {
  const collections = (making: string) =>
    measure(`
      const { PerformanceObserver, constants } = await import('node:perf_hooks');
      let count = 0;
      const isWhole = ({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
      new PerformanceObserver((list) => (count += list.getEntries().filter(isWhole).length)).observe({ entryTypes: ['gc'] });
      for (let i = 0; i < 30; i++) {
        const some = Array.from({ length: 8 }, () => ${making});
        await new Promise(setImmediate);
        for (const tensor of some) tensor.dispose();
      }
      console.log(count);`);

  it('is due to memory that nobody else frees, not to tensors that are kept', () => {
    expect(collections(`empty([64 * ${MiB}])`)).toBeGreaterThan(3);
    expect(collections(`tidy(() => keep(empty([64 * ${MiB}])))`)).toBeLessThan(3);
  });
});

describe('parts of bytes', () => {
  it('take less than 150 MiB of a tensor of 512', () => {
    const peak = measure(`
      const tensor = full([512, ${MiB / 4}], 0.5);
      const before = process.memoryUsage.rss();
      let peak = 0;
      for (const part of byteParts(tensor)) peak = Math.max(peak, process.memoryUsage.rss());
      console.log(peak - before);`);
    expect(peak / MiB).toBeGreaterThan(1);
    expect(peak / MiB).toBeLessThan(150);
  });
});

describe('a freed tensor', () => {
  it('leaves a place that the next of its size fits into, whatever lies beside it', () => {
    const grown = measure(`
      const small = [];
      const large = () => {
        const made = full([${64 * (MiB / 4)}], 0.5);
        small.push(...Array.from({ length: 64 }, (_, i) => full([i], 0.5)));
        made.dispose();
      };
      large();
      const before = process.memoryUsage.rss();
      for (let i = 0; i < 20; i++) large();
      console.log(process.memoryUsage.rss() - before);`);
    // Two places at most; one a tensor would be 1,280.
    expect(grown / MiB).toBeLessThan(160);
  });
});

describe('a training loop in scopes', () => {
  it('has as many live tensors after 200 steps as after 20', () => {
    const weight = tensor([0.1, -0.2, 0.3, 0.4], [2, 2]);
    weight.requiresGrad = true;
    const optimizer = new AdamW(new Map([['weight', weight]]), {
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-8,
      weightDecay: 0.01,
    });
    const target = tensor([1, 2, 3, 4], [2, 2]);
    const losses: number[] = [];
    const counts: { tensors: number; bytes: number }[] = [];
    for (let step = 1; step <= 200; step++) {
      tidy(() => {
        const error: Tensor = ones([2, 2]).matmul(weight).softmax(-1).log().sub(target);
        const loss = error.mul(error).mean();
        optimizer.accumulate(() => loss.backward());
        optimizer.step(0.05, 1);
        losses.push(loss.item());
      });
      counts.push(memory());
    }
    expect(counts[199]).toEqual(counts[19]);
    expect(losses[199]).toBeLessThan(losses[0]!);
  });
});

describe('more memory than there is', () => {
  it('is an error that can be told from others', () => {
    const errorOf = (body: () => unknown) => {
      try {
        body();
      } catch (error) {
        return error;
      }
      return undefined;
    };
    // 140 TB: no machine can address them.
    const size = [2 ** 45];
    const x = ones([1]);
    x.requiresGrad = true;
    const backward = () => x.expand(size).narrow(0, 0, 1).sum().backward();
    for (const exhaust of [() => empty(size), () => x.expand(size).add(1), backward])
      expect(isOutOfMemory(errorOf(exhaust))).toBe(true);
    expect(isOutOfMemory(errorOf(() => x.view([2])))).toBe(false);
    expect(isOutOfMemory(new Error('out of memory'))).toBe(false);
  });

  it.runIf(process.platform === 'linux')('goes back to the system from between tensors', () => {
    const large = [];
    const small = [];
    for (let i = 0; i < 8; i++) {
      large.push(ones([2 ** 22]));
      small.push(ones([16]));
    }
    const before = process.memoryUsage().rss;
    for (const x of large) x.dispose();
    emptyCache();
    // 134 MB were freed.
    expect(before - process.memoryUsage().rss).toBeGreaterThan(100e6);
    for (const x of small) x.dispose();
  });
});
