import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { applied, mutationsOf, OPERATORS } from './operators.js';
import { readSubjects } from './subjects.js';

/** Everything that the operators make of a source, as `operator: new source`. */
const changed = (source: string) =>
  mutationsOf(source).map((mutation) => `${mutation.operator}: ${applied(source, mutation)}`);

describe('the operators', () => {
  it.each<[string, string[]]>([
    ['go(a, b, c)', ['swapped arguments: go(b, a, c)', 'swapped arguments: go(a, c, b)', 'missing call: ;']],
    ['go(a, a)', ['missing call: ;']],
    ['await go()', ['missing call: ;']],
    ['x = a[i]', ['stale value: ;', 'off by one: x = a[(i) + 1]', 'off by one: x = a[(i) - 1]']],
    [
      'return a.slice(i)',
      ['stale value: return a', 'off by one: return a.slice((i) + 1)', 'off by one: return a.slice((i) - 1)'],
    ],
    ['a + b', ['wrong sign: a - b', 'dropped term: a', 'dropped term: b']],
    ['a - b', ['wrong sign: a + b', 'dropped term: a']],
    ['a / b', ['dropped term: a', 'half: (0.5 * (a / b))']],
    ['a * b', ['dropped term: a', 'dropped term: b', 'half: (0.5 * (a * b))']],
    ["a + 'b'", []],
    ['-a', ['wrong sign: a']],
    ['a += b', ['stale value: ;', 'wrong sign: a -= b']],
    ['n++', ['stale value: ;']],
    ['const y = go(x)', ['stale value: const y = x']],
    ['const y = x.go(z)', ['stale value: const y = x']],
    ['const y = Math.log(x)', []],
    ['f = 4', ['stale value: ;', 'off by one: f = 5', 'off by one: f = (3)', 'half: f = 2']],
    ['f = 1e-8', ['stale value: ;', 'half: f = 5e-9']],
    ['a < b', ['comparison turned: a <= b']],
    ['a >= b', ['comparison turned: a > b']],
    ['a === b', ['comparison turned: a !== b']],
    ['if (a) b()', ['condition negated: if (!(a)) b()', 'missing call: if (a) ;']],
    ['f = a ? b : c', ['stale value: ;', 'condition negated: f = !(a) ? b : c']],
    ['!Math.min(a)', ['min for max: !Math.max(a)']],
    ['!mean(a)', ['sum for mean: !(mean(a) * (a).length)']],
    ['!sum(a)', ['sum for mean: !(sum(a) / (a).length)']],
    [
      '!a.sum(1)',
      ['sum for mean: !a.mean(1)', 'off by one: !a.sum(2)', 'off by one: !a.sum((0))', 'half: !a.sum(0.5)'],
    ],
    ['!a.mul(b)', ['dropped term: !a', 'half: !a.mul(b).mul(0.5)']],
    ['!a.add_(b)', ['dropped term: !a', 'wrong sign: !a.sub_(b)']],
    ['!a.neg()', ['wrong sign: !a']],
    ['throw go(a, b)', []],
    ["import { a } from 'b'", []],
  ])('of %s', (source, expected) => {
    expect(changed(source).sort()).toEqual([...expected].sort());
  });

  it('all change something of our own files, and what they make can be parsed', () => {
    const all = readSubjects().flatMap(({ text }) =>
      mutationsOf(text).map((mutation) => ({ text, mutation })),
    );
    expect([...new Set(all.map(({ mutation }) => mutation.operator))].sort()).toEqual([...OPERATORS].sort());
    for (const { text, mutation } of all.filter((_, i) => i % 80 === 0)) {
      const source = applied(text, mutation);
      expect(source).not.toBe(text);
      const { diagnostics } = ts.transpileModule(source, {
        fileName: 'mutant.js',
        reportDiagnostics: true,
        compilerOptions: { allowJs: true, target: ts.ScriptTarget.ESNext },
      });
      expect(diagnostics?.map(({ messageText }) => `${source}\n${String(messageText)}`)).toEqual([]);
    }
  });
});
