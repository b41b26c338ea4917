import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cataloguePage } from './catalogue.js';
import { faultOf } from './finding.js';
import { faults, registry } from './registry.js';
import { addressOf } from './source.js';

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

  it('are B01 to B69, in order, one a file that has their number and name', () => {
    const numbers = Array.from({ length: 69 }, (_, i) => `B${String(i + 1).padStart(2, '0')}`);
    expect(faults.map(({ code }) => code)).toEqual(numbers);
    const named = faults.map(
      ({ code, name }) => `${`${code} ${name}`.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.js`,
    );
    expect(entries).toEqual(named);
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

describe('sources', () => {
  const root = new URL('../../../../', import.meta.url);

  it('can be opened by a stranger', () => {
    const all = registry.flatMap(({ sources }) => sources);
    expect(all.filter((source) => addressOf(source) === undefined)).toEqual([]);
    const ours = all.map((source) => addressOf(source)!).filter((address) => !address.startsWith('https:'));
    expect(ours.filter((path) => !existsSync(new URL(path, root)))).toEqual([]);
  });

  it.each([
    ['huggingface/trl#3500', 'https://github.com/huggingface/trl/issues/3500'],
    ['huggingface/trl@f2cd577:trl/a.py', 'https://github.com/huggingface/trl/blob/f2cd577/trl/a.py'],
    ['arXiv:2402.03300', 'https://arxiv.org/abs/2402.03300'],
    ['bench/gap.mjs', 'bench/gap.mjs'],
  ])('%s is one', (source, address) => expect(addressOf(source)).toBe(address));

  it.each(['note 001', 'faults.md B38', 'identity', 'proposal', 'trl#3500', 'huggingface/trl', 'bench', ''])(
    '“%s” is none',
    (source) => expect(addressOf(source)).toBeUndefined(),
  );

  it('are missing only of checks that say why they hold', () => {
    // The checks of the audit follow from the declared settings alone.
    const without = faults.flatMap(({ checks }) => checks).filter(({ sources }) => sources.length === 0);
    expect(without.filter(({ why }) => !why).map(({ code }) => code)).toEqual([]);
  });
});
