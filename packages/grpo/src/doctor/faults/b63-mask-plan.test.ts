import { describe, expect, it } from 'vitest';
import { ESTIMATORS, type Estimator } from '../../config/choices.js';
import type { StepRecord } from '../../trace/index.js';
import { diffusionRecord } from '../diffusion-record.test.helper.js';
import { examine } from '../examine.js';
import { expectOutcome, outcomeOf, type Planted, startOf } from '../planted.test.helper.js';
import { registry } from '../registry.js';

type Case = Planted & { of: Estimator };

function test(code: string, cases: readonly Case[]): void {
  describe(code, () => {
    it.each(cases)('$of, $name: $verdict', ({ of, plant, ...expected }) => {
      const record = diffusionRecord(of);
      plant(record);
      expectOutcome(outcomeOf(code, record), expected);
    });
  });
}

const plan = (record: StepRecord, iteration = 0) => record.diffusion!.plans![iteration]!;

/** Weighs the passes of the coupled estimate. */
const weigh = (by: (weight: number, pass: number) => number) => (record: StepRecord) => {
  plan(record).weights = plan(record).weights.map((weight, i) => by(weight, i % 3));
};

test('B63.views', [
  { of: 'coupled', name: 'as they are', plant: () => {}, verdict: 'pass' },
  {
    of: 'coupled',
    name: 'without the 1/t',
    plant: weigh((weight, pass) => (pass === 0 ? weight : 0.4)),
    verdict: 'fail',
    measured: { wrong: 24 },
  },
  {
    of: 'coupled',
    name: 'without the half of the first pass',
    plant: weigh((weight, pass) => (pass === 0 ? 1 : weight)),
    verdict: 'fail',
  },
  {
    of: 'coupled',
    name: 'the second of two complementary passes hides what the first hides',
    plant: (record) => {
      const { region } = plan(record, 1);
      region.copyWithin(128, 64, 128);
    },
    verdict: 'fail',
    evidence: { completion: 0, values: { iteration: 1 } },
  },
  {
    of: 'coupled',
    name: 'a share that is not declared',
    plant: ({ declared }) => {
      declared!.diffusion!.maskRates = [0.5, 0.6];
    },
    verdict: 'fail',
  },
  {
    of: 'd1',
    name: 'a place of the region is seen',
    plant: (record) => plan(record).region.fill(0, 70, 71),
    verdict: 'fail',
    evidence: { completion: 1, text: 'the first pass does not hide the whole region' },
  },
  {
    of: 'sum_masked',
    name: 'tokens of the prompt are hidden',
    plant: (record) => plan(record).prompt.fill(1, 0, 3),
    verdict: 'fail',
    evidence: { completion: 0 },
  },
  {
    of: 'd1',
    name: 'another estimate is declared',
    plant: ({ declared }) => {
      declared!.diffusion!.estimator = 'coupled';
    },
    verdict: 'fail',
  },
  {
    of: 'd1',
    name: 'none is declared',
    plant: ({ declared }) => {
      delete declared!.diffusion;
    },
    verdict: 'not applicable',
  },
]);

test('B63.rate', [
  ...ESTIMATORS.map((of): Case => ({ of, name: 'as it is', plant: () => {}, verdict: 'pass' })),
  {
    of: 'd1',
    name: 'the prompt is not hidden',
    plant: (record) => plan(record).prompt.fill(0),
    verdict: 'pass',
  },
  {
    of: 'd1',
    name: 'the prompt is hidden as a whole',
    plant: (record) => plan(record).prompt.fill(1),
    verdict: 'fail',
  },
  {
    of: 'sum_masked',
    name: 'nothing is hidden',
    plant: (record) => plan(record).region.fill(0),
    verdict: 'fail',
  },
  {
    of: 'sum_masked',
    name: 'all is hidden',
    plant: (record) => plan(record).region.fill(1),
    verdict: 'fail',
  },
  {
    of: 'coupled',
    name: 'every weight stands for a larger share',
    plant: weigh((weight, pass) => (pass === 1 ? weight / 1.5 : weight)),
    verdict: 'fail',
  },
]);

test('B63.draws', [
  ...ESTIMATORS.map((of): Case => ({ of, name: 'as they are', plant: () => {}, verdict: 'pass' })),
  {
    of: 'sum_masked',
    name: 'one other place',
    plant: (record) => {
      plan(record).region[70]! ^= 1;
    },
    verdict: 'fail',
    evidence: { prompt: 0, completion: 1, values: { iteration: 0 } },
  },
  {
    of: 'd1',
    name: 'the masks of the iteration before',
    plant: (record) => {
      plan(record, 1).prompt = plan(record).prompt;
    },
    verdict: 'fail',
    evidence: { values: { iteration: 1 } },
  },
  {
    of: 'coupled',
    name: 'another declared share',
    plant: ({ declared }) => {
      declared!.diffusion!.maskRates = [0.1, 0.8];
    },
    verdict: 'fail',
  },
  {
    of: 'd1',
    name: 'keys are not known',
    plant: (record) => {
      delete plan(record).keys;
    },
    verdict: 'not applicable',
  },
]);

/** The first token of a completion that no pass of an iteration hides. */
function seenToken(record: StepRecord, completion: number, iteration = 0): number {
  const { region } = plan(record, iteration);
  return region.indexOf(0, completion * 64) - completion * 64;
}

test('B63.hidden', [
  ...ESTIMATORS.map((of): Case => ({ of, name: 'as it is', plant: () => {}, verdict: 'pass' })),
  {
    of: 'sum_masked',
    name: 'a seen token has a log-prob',
    plant: (record) => {
      record.updates![0]!.policyLogprobs![startOf(record, 9) + seenToken(record, 9)] = -2;
    },
    verdict: 'fail',
    evidence: { completion: 9, values: { side: 'policy', logprob: -2 } },
  },
  {
    of: 'sum_masked',
    name: 'the reference is scored with the masks of the iteration before',
    plant: ({ updates, scored }) => {
      updates![1]!.referenceLogprobs = scored!.referenceLogprobs!;
    },
    verdict: 'fail',
    evidence: { values: { update: 2, side: 'reference' } },
  },
]);

test('B63.same', [
  ...ESTIMATORS.map((of): Case => ({ of, name: 'as they are', plant: () => {}, verdict: 'pass' })),
  {
    of: 'd1',
    name: 'the old policy has other masks',
    plant: ({ scored }) => {
      scored!.oldLogprobs = scored!.oldLogprobs!.map((value, t) => value + (t % 2 ? 0.2 : -0.2));
    },
    verdict: 'fail',
    measured: { side: 'old policy' },
  },
  {
    of: 'coupled',
    name: 'a reference with the weights of the policy has other masks',
    plant: ({ scored }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value + 0.1);
    },
    verdict: 'fail',
    measured: { side: 'reference' },
  },
  {
    of: 'coupled',
    name: 'the reference has other weights',
    plant: ({ scored, probes }) => {
      scored!.referenceLogprobs = scored!.referenceLogprobs!.map((value) => value + 0.1);
      probes!.checksums!.reference = 8;
    },
    verdict: 'pass',
  },
  {
    of: 'd1',
    name: 'scoring twice differs',
    plant: ({ scored, probes }) => {
      scored!.oldLogprobs = scored!.oldLogprobs!.map((value) => value + 0.2);
      probes!.repeatedScoring!.max = 1;
    },
    verdict: 'not applicable',
  },
]);

describe('checks of causal models', () => {
  /** A step whose completions were filled at once, and are scored by one pass that hides just these. */
  const filledAtOnce = () => {
    const record = diffusionRecord('d1');
    const { diffusion, declared, completions, updates } = record;
    diffusion!.steps = 1;
    diffusion!.blockLength = 64;
    diffusion!.order!.fill(0);
    Object.assign(declared!.diffusion!, { steps: 1, blockLength: 64, promptMaskRate: 0 });
    for (const own of diffusion!.plans!) own.prompt.fill(0);
    completions!.samplerLogprobs = updates![0]!.policyLogprobs!.slice();
    completions!.sampledLogprobs = completions!.samplerLogprobs;
    return record;
  };
  const findings = (record: StepRecord) =>
    examine({ records: [record] }, registry).findings.map(({ code }) => code);

  it.each(['B19.surprise', 'B35.shift', 'B38.policy', 'B39.gap'])(
    '%s asks a masked-diffusion model only where it scores as it samples',
    (code) => {
      for (const of of ESTIMATORS)
        expect(outcomeOf(code, diffusionRecord(of)).verdict, of).toBe('not applicable');
      expect(outcomeOf(code, filledAtOnce()).verdict).toBe('pass');
    },
  );

  it('find a sampler whose log-probs are not the one-step estimate', () => {
    expect(findings(filledAtOnce())).toEqual([]);
    const record = filledAtOnce();
    const { completions } = record;
    completions!.samplerLogprobs = completions!.samplerLogprobs!.map((value) => value - 0.1);
    completions!.sampledLogprobs = completions!.samplerLogprobs;
    expect(findings(record)).toContain('B39.gap');
  });

  it('find completions that were drawn alike only where they were filled alike', () => {
    const twins = (order: number) => {
      const record = diffusionRecord('d1');
      const { region, order: steps } = record.diffusion!;
      const [one, other] = [20 * 64, 21 * 64];
      region!.copyWithin(other, one, one + 64);
      if (order) steps!.copyWithin(other, one, one + 64);
      return outcomeOf('B17.draws', record);
    };
    expect(twins(0).verdict).toBe('pass');
    expect(twins(1)).toMatchObject({ verdict: 'fail', evidence: [{ completion: 21 }] });
  });

  it('take the masks of its own for each iteration', () => {
    const record = diffusionRecord('sum_masked');
    delete record.updates![1]!.mask;
    expect(outcomeOf('B41.weights', record).verdict).toBe('fail');
    const old = diffusionRecord('coupled');
    delete old.updates![1]!.oldLogprobs;
    expect(outcomeOf('B40.old', old).verdict).toBe('fail');
  });

  it('do not miss the mask of a token that no pass hides', () => {
    const record = diffusionRecord('sum_masked');
    record.scored!.mask![startOf(record, 9) + seenToken(record, 9)] = 1;
    expect(outcomeOf('B11.mask', record)).toMatchObject({ verdict: 'fail', evidence: [{ completion: 9 }] });
  });
});
