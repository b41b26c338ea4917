import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cataloguePage } from './catalogue.js';
import { faultList } from './fault-list.js';
import { faultOf } from './finding.js';
import { proofs } from './proofs.js';
import { registry } from './registry.js';

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
    for (const fault of Object.keys(faultList)) expect(page).toContain(`\n| ${fault} | `);
  });
});

describe('the list of faults', () => {
  it('is B01 to B60, in order', () => {
    const expected = Array.from({ length: 60 }, (_, i) => `B${String(i + 1).padStart(2, '0')}`);
    expect(Object.keys(faultList)).toEqual(expected);
  });

  it('has a check or a place for each', () => {
    const served = new Set(codes.map(faultOf));
    const neither = Object.entries(faultList).filter(
      ([fault, { left }]) => !left && !served.has(fault as never),
    );
    expect(neither.map(([fault]) => fault)).toEqual([]);
    for (const code of codes) expect(Object.keys(faultList)).toContain(faultOf(code));
  });
});

describe('proofs', () => {
  it('are of checks that are there', () => {
    expect(Object.keys(proofs).filter((code) => !codes.includes(code as never))).toEqual([]);
    for (const of of Object.values(proofs)) expect(of.length).toBeGreaterThan(0);
  });
});

describe('tests', () => {
  it('plant the fault of every check', () => {
    const folder = new URL('./checks/', import.meta.url);
    const texts = readdirSync(folder)
      .filter((name) => name.endsWith('.test.js'))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n');
    expect(codes.filter((code) => !texts.includes(`'${code}'`))).toEqual([]);
  });
});
