import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import type { Finding } from '../../doctor/finding.js';
import { stopFor } from './finding-rules.js';

const finding = (code: Finding['code'], severity: Finding['severity']): Finding => ({
  code,
  fault: 'B39',
  severity,
  level: 3,
  steps: [1],
  judged: 1,
  measured: {},
  evidence: [],
});
const fail = finding('B02.prompt', 'fail');
const warn = finding('B39.gap', 'warn');
const audit = finding('H06.audit', 'fail');

/** The steps of 1 to 6 after which a run with the setting ends for a finding. */
function stops(setting: string, one: Finding): number[] {
  const { config } = resolveConfig({
    command: 'train',
    settings: ['task.name=arithmetic', 'model=m', `doctor.onFinding=${setting}`],
  });
  return [1, 2, 3, 4, 5, 6].filter((step) => stopFor([one], step, config.doctor.onFinding));
}

describe('what stops a run', () => {
  it.each([
    { setting: 'warn', fails: [1, 2], warns: [], audits: [1, 2, 3, 4, 5, 6] },
    { setting: 'stop', fails: [1, 2, 3, 4, 5, 6], warns: [], audits: [1, 2, 3, 4, 5, 6] },
    { setting: 'off', fails: [], warns: [], audits: [] },
    {
      setting: '[{finding: warn, from: 2, to: 3, do: stop}, {finding: fail, from: 5, do: stop}]',
      fails: [5, 6],
      warns: [2, 3],
      audits: [5, 6],
    },
    // The first that holds counts.
    {
      setting: '[{finding: audit, to: 4, do: continue}, {finding: fail, do: stop}]',
      fails: [1, 2, 3, 4, 5, 6],
      warns: [],
      audits: [5, 6],
    },
  ])('with $setting', ({ setting, fails, warns, audits }) => {
    expect([stops(setting, fail), stops(setting, warn), stops(setting, audit)]).toEqual([
      fails,
      warns,
      audits,
    ]);
  });

  it('is a check of a step that fails twice in a row, unless rules say otherwise', () => {
    const again = new Set([fail, warn]);
    expect(stopFor([warn, fail], 9, 'warn', again)).toBe(fail);
    expect(stopFor([warn, fail], 9, 'warn', new Set([warn]))).toBeUndefined();
    const log = finding('B43.log', 'fail');
    expect(stopFor([log], 9, 'warn', new Set([log]))).toBeUndefined();
    expect(stopFor([fail], 9, [{ finding: 'audit', from: 1, do: 'stop' }], again)).toBeUndefined();
  });

  it('is the first finding that has to, not what only leads', () => {
    expect(stopFor([warn, fail], 1, 'warn')).toBe(fail);
  });
});
