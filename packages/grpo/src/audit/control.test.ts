import { describe, expect, it } from 'vitest';
import type { LabRun } from '../lab/lab-run.js';
import { Control } from '../step/control.js';
import type { Trainer } from '../step/trainer.js';
import { comparisonsOf, disagreements } from './audit.test.helper.js';

const ENTROPY = [
  'entropy.adaptive=true',
  'entropy.target=1.5',
  'entropy.delta=0.01',
  'entropy.coefficient=0.02',
];
const KL = ['kl.beta=0.1', 'kl.target=0.001', 'kl.window=2'];
const ADAPTIVE = [...KL, 'kl.control=adaptive'];
const all = ['kl', 'loss', 'run'] as const;

/** Quantities that disagree, of a run whose control is another. */
const planted = (settings: readonly string[], control: (trainer: Trainer) => Control) =>
  disagreements(all, { steps: 3, settings, plant: (trainer) => ({ control: control(trainer) }) });

/** The same with something done behind its back. */
const changed = (change: (control: Control, trainer: Trainer) => void) => (trainer: Trainer) => {
  const control = new Control(trainer.config);
  change(control, trainer);
  return control;
};

describe('the weights of KL and entropy bonus', () => {
  it.each([
    [ENTROPY],
    [
      [
        ...ENTROPY,
        'entropy.target=9',
        'entropy.topShare=0.5',
        'objective.iterations=2',
        'objective.oldLogprobs=recompute',
      ],
    ],
    [ADAPTIVE],
    [[...KL, 'kl.control=lagrangian', 'kl.most=0.2', 'kl.warmupSteps=2']],
    [[...ADAPTIVE, 'kl.warmupSteps=2', 'kl.warmup=zero']],
    [[...ADAPTIVE, ...ENTROPY, 'kl.kindKey=kind', 'groups.refills=2']],
  ])('hold: %s', async (settings) => {
    const run: LabRun = { steps: 4, settings };
    expect(await disagreements(all, run)).toEqual([]);
    const compared = (await comparisonsOf(run)).filter(({ quantity }) =>
      quantity.endsWith('after the step before'),
    );
    expect(compared.length).toBeGreaterThanOrEqual(3);
  });

  it('are told when the bonus moves the wrong way, follows the first entropy, or is on above the target', async () => {
    const wrong = changed((control) => {
      const real = control.afterUpdate.bind(control);
      control.afterUpdate = (metrics) => {
        const { coefficient } = control.state.entropy;
        real(metrics);
        control.state.entropy.coefficient = 2 * coefficient - control.state.entropy.coefficient;
      };
    });
    expect(await planted(ENTROPY, wrong)).toEqual(['weight of the entropy bonus after the step before']);
    const first = changed((control) => {
      const real = control.afterUpdate.bind(control);
      control.afterUpdate = (metrics) => {
        const { last } = control.state.entropy;
        real(metrics);
        control.state.entropy.last = last ?? control.state.entropy.last;
      };
    });
    expect(await planted(ENTROPY, first)).toEqual(['entropy that the bonus follows']);
    const always = changed((control) =>
      Object.defineProperty(control, 'entropyCoefficient', { get: () => control.state.entropy.coefficient }),
    );
    expect(await planted(ENTROPY, always)).toContain('weight of the entropy bonus');
  });

  it('are told when β moves the wrong way, or is that of another kind', async () => {
    const wrong = changed((control) => {
      const real = control.afterStep.bind(control);
      control.afterStep = (step, kinds, { kl, ...metrics }) =>
        real(step, kinds, { ...metrics, kl: kl === 0 ? 1 : 0 });
    });
    expect(await planted(ADAPTIVE, wrong)).toEqual(['β after the step before']);
    const twice = changed((control) => {
      const real = control.weigh.bind(control);
      control.weigh = (batch, step) => {
        real(batch, step);
        batch.betas_P = batch.betas_P.map((beta, p) => (p === 1 ? 2 * beta : beta));
      };
    });
    expect(await planted(KL.slice(0, 1), twice)).toContain('β of a problem');
  });
});
