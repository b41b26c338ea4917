import { describe, expect, it } from 'vitest';
import type { StepRecord } from '../../trace/index.js';
import { diffusionRecord, MASK_ID } from '../diffusion-record.test.helper.js';
import { expectOutcome, outcomeOf, type Planted } from '../planted.test.helper.js';

function test(code: string, cases: readonly Planted[]): void {
  describe(code, () => {
    it.each(cases)('$name: $verdict', ({ plant, ...expected }) => {
      const record = diffusionRecord('d1');
      plant(record);
      expectOutcome(outcomeOf(code, record), expected);
    });
  });
}

const setOrder = (of: (place: number) => number) => (record: StepRecord) => {
  record.diffusion!.order = record.diffusion!.order!.map((_, i) => of(i % 64));
};

test('B64.order', [
  { name: 'as it is', plant: () => {}, verdict: 'pass' },
  {
    name: 'left to right over the blocks',
    plant: setOrder((place) => Math.floor(place / 2)),
    verdict: 'pass',
  },
  {
    name: 'over all blocks at once',
    plant: setOrder((place) => place % 32),
    verdict: 'fail',
    measured: { wrong: 24 },
  },
  {
    name: 'a place of a later block before its turn',
    plant: ({ diffusion }) => void diffusion!.order!.fill(3, 64 + 40, 64 + 41),
    verdict: 'fail',
    evidence: { completion: 1 },
  },
  {
    name: 'three places in one step and one in another',
    plant: ({ diffusion }) => {
      const { order } = diffusion!;
      order![order!.indexOf(1)] = 2;
    },
    verdict: 'fail',
    evidence: { completion: 0, text: 'step 1 fills 1 places in place of 2' },
  },
  {
    name: 'one place that is not filled',
    plant: ({ diffusion }) => void diffusion!.order!.fill(-1, 5, 6),
    verdict: 'fail',
    evidence: { completion: 0 },
  },
  {
    name: 'half as many steps as declared',
    plant: setOrder((place) => Math.floor(place / 4)),
    verdict: 'fail',
    evidence: { text: '16 steps fill it in place of 32' },
  },
  {
    name: 'fewer steps for a region that the context cuts short',
    plant: (record) => {
      record.declared!.rollout!.maxNewTokens = 80;
      setOrder((place) => Math.floor(place / 4))(record);
    },
    verdict: 'pass',
  },
  {
    name: 'a step more for what does not divide',
    plant: (record) => {
      Object.assign(record.diffusion!, { steps: 5, blockLength: 64 });
      setOrder((place) => (place < 52 ? Math.floor(place / 13) : 4))(record);
    },
    verdict: 'pass',
  },
]);

test('B64.region', [
  { name: 'as it is', plant: () => {}, verdict: 'pass' },
  {
    name: 'a mask is left',
    plant: ({ diffusion }) => void diffusion!.region!.fill(MASK_ID, 64 * 2 + 60, 64 * 2 + 61),
    verdict: 'fail',
    evidence: { completion: 2, token: 60 },
  },
  {
    name: 'another token than the completion has',
    plant: ({ diffusion }) => void diffusion!.region!.fill(48, 1, 2),
    verdict: 'fail',
    evidence: { completion: 0, token: 1 },
  },
  {
    name: 'cut off before its region ends',
    plant: ({ completions }) => {
      completions!.finish![3] = 'length';
    },
    verdict: 'fail',
    evidence: { completion: 3 },
  },
]);

it('a causal step is not asked', () => {
  const record = diffusionRecord('d1');
  delete record.diffusion;
  for (const code of [
    'B64.order',
    'B64.region',
    'B63.same',
    'B63.views',
    'B63.rate',
    'B63.draws',
    'B63.hidden',
  ])
    expect(outcomeOf(code, record).verdict, code).toBe('not applicable');
});
