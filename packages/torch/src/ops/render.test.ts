import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { resolveOperator } from '../dispatch.js';
import { torchVersion } from '../runtime.js';
import { operators } from './list.js';
import { renderOperators } from './render.js';

const tested = torchVersion().startsWith('2.13.');

it.skipIf(!tested)('generated/ops.ts is what `npm run ops` writes (skipped unless on libtorch 2.13)', () => {
  // From dist/ops and src/ops alike.
  const checkedIn = readFileSync(new URL('../../src/generated/ops.ts', import.meta.url), 'utf8');
  const version = /from libtorch (\S+):/.exec(checkedIn)![1]!;
  expect(version).toMatch(/^2\.13\./);
  expect(checkedIn).toBe(renderOperators(resolveOperator, version));
});

it('names an operator that libtorch lacks', () => {
  expect(() => renderOperators(() => null, '9.9')).toThrow(
    'libtorch 9.9 has no operator aten::empty.memory_format',
  );
});

it('lists each operator once', () => {
  const names = Object.values(operators).map(([operator]) => operator);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
