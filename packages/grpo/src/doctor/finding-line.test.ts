import { expect, it } from 'vitest';
import { findingLine } from './finding-line.js';

const finding = {
  code: 'H05.audit',
  severity: 'fail',
  measured: {
    quantity: 'old log-prob',
    of: '',
    found: 1,
    plain: 2,
    deviation: 1,
    bound: 0,
    compared: 5,
    common: '',
  },
} as const;

it('tells the first place in the step, and what brings a finding about', () => {
  const evidence = [
    { step: 3, prompt: 1, completion: 5, token: 0 },
    { step: 3, prompt: 2 },
  ];
  expect(findingLine({ ...finding, evidence, inducedBy: { code: 'H02.audit', sure: false } })).toMatch(
    /^H05\.audit fail \(prompt 1, completion 5, token 0\), which may follow from H02\.audit: The old log-prob /,
  );
  expect(findingLine({ ...finding, evidence: [{ step: 3 }] })).toMatch(/^H05\.audit fail: The old /);
});
