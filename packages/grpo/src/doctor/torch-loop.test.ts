import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readStepRecord } from '../trace/index.js';
import { examine } from './examine.js';
import { registry } from './registry.js';

/** First steps of a trainer in plain PyTorch, with the faults of parity/torch_loop.py; nothing in them was edited. */
const runs = new URL('../../../../parity/fixtures/torch-loop/', import.meta.url);

const diagnose = (run: string) => {
  const record = readStepRecord(fileURLToPath(new URL(`${run}/steps/000001`, runs)));
  return examine({ records: [record] }, registry);
};

it('finds nothing in a loop without a fault, and judges much of it', () => {
  const { findings, judgements } = diagnose('none');
  expect(findings).toEqual([]);
  expect(judgements.filter(({ judged }) => judged > 0).length).toBeGreaterThan(35);
  const held = judgements.filter(({ code, verdict }) => /^H0[1256]\.audit$/.test(code) && verdict === 'pass');
  expect(held.map(({ code }) => code)).toEqual(['H01.audit', 'H02.audit', 'H05.audit', 'H06.audit']);
});

it.each([
  ['other-template', 'B02.prompt', 'fail'],
  ['raw-prompts', 'B02.prompt', 'fail'],
  ['prompt-penalty', 'B15.first-token', 'fail'],
  ['cut-by-count', 'B10.graded', 'fail'],
  ['right-pad-mask', 'B11.empty', 'fail'],
  ['gather', 'B36.rows', 'fail'],
  ['train-mode', 'B38.policy', 'fail'],
  ['bf16-lost', 'B52.lost', 'warn'],
  ['entropy-sign', 'B42.sign', 'fail'],
  ['retokenised', 'B07.ids', 'fail'],
  ['no-end', 'B08.end', 'fail'],
  ['double-bos', 'B04.bos', 'fail'],
  ['base-reference', 'B51.start', 'fail'],
  ['lost-micro-batch', 'H06.audit', 'fail'],
])('names the fault %s first: %s', (run, code, severity) => {
  expect(diagnose(run).findings[0]).toMatchObject({ code, severity });
});
