import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cataloguePage } from './catalogue.js';
import { faultOf } from './finding.js';
import { faults, registry } from './registry.js';

const codes = registry.map(({ code }) => code);

describe('docs/doctor.md', () => {
  it('is what the registry says; `npm run docs:doctor` writes it', () => {
    expect(readFileSync(new URL('../../../../docs/doctor.md', import.meta.url), 'utf8')).toBe(
      cataloguePage(),
    );
  });

  it('has every check once, and every fault', () => {
    const page = cataloguePage();
    for (const code of codes) expect(page.split(`\n### ${code}\n`).length, code).toBe(2);
    for (const { code } of faults) expect(page).toContain(`\n| ${code} | `);
  });
});

describe('the faults', () => {
  const folder = new URL('./faults/', import.meta.url);
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .sort();
  const entries = files.filter((name) => !name.endsWith('.test.js'));

  it('are B01 to B60, in order, one a file that has their number and name', () => {
    const numbers = Array.from({ length: 60 }, (_, i) => `B${String(i + 1).padStart(2, '0')}`);
    expect(faults.map(({ code }) => code)).toEqual(numbers);
    const named = faults.map(
      ({ code, name }) => `${`${code} ${name}`.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.js`,
    );
    expect(entries).toEqual(named);
  });

  it('import none of each other', () => {
    const importing = entries.filter((name) =>
      /from '\.\//.test(readFileSync(new URL(name, folder), 'utf8')),
    );
    expect(importing).toEqual([]);
  });

  it('have a check or a place each, and no check of another', () => {
    const neither = faults.filter(({ left, checks }) => !left && checks.length === 0);
    expect(neither.map(({ code }) => code)).toEqual([]);
    for (const { code, checks } of faults) for (const check of checks) expect(faultOf(check.code)).toBe(code);
  });

  it('are planted in the test beside them, for every check', () => {
    const text = (name: string) => readFileSync(new URL(name, folder), 'utf8');
    const unplanted = faults.flatMap(({ checks }, i) =>
      checks.filter(({ code }) => !text(entries[i]!.replace(/js$/, 'test.js')).includes(`'${code}'`)),
    );
    expect(unplanted.map(({ code }) => code)).toEqual([]);
  });
});
