/** The KL, or the reference that it is measured to, is another. */

import { noGrad } from '@grpo/torch';
import { initDecoder, type OwningDecoder } from '../../models/index.js';
import { composedLoss, type LossInput } from '../../objective/index.js';
import { Control } from '../../step/control.js';
import type { LossParts } from '../plain-loss.js';
import { lossWith } from '../plain-loss.js';
import type { PlantedFault } from './planted-fault.js';

const kl = (estimate: LossParts['kl']) => () => ({
  settings: ['kl.beta=0.05', 'optimizer.learningRate=0.01'],
  steps: 3,
  stages: { objective: lossWith({ kl: estimate }) },
});

const withKl = (changes: Partial<LossInput['settings']['kl']>) => (input: LossInput) => {
  const { settings } = input;
  return composedLoss({ ...input, settings: { ...settings, kl: { ...settings.kl, ...changes } } });
};

/** A controller that compares β × KL with the target. */
class Weighted extends Control {
  override afterStep(
    step: number,
    kinds: readonly string[],
    metrics: Readonly<Record<string, number>>,
  ): void {
    super.afterStep(step, kinds, { ...metrics, kl: metrics.kl! * this.beta(step, '') });
  }
}

export const klFaults: readonly PlantedFault[] = [
  {
    code: 'B48',
    variants: [
      {
        name: 'k1 where k3 is declared',
        run: kl(({ logprobs_T }, reference_T) => logprobs_T.sub(reference_T)),
      },
      {
        name: 'k2 where k3 is declared',
        run: kl(({ logprobs_T }, reference_T) => logprobs_T.sub(reference_T).pow(2).mul(0.5)),
      },
      {
        name: 'k3 with policy and reference exchanged',
        run: kl(({ logprobs_T }, reference_T) => {
          const d = logprobs_T.sub(reference_T);
          return d.expm1().sub(d);
        }),
      },
      {
        name: 'of each token where that of completions is declared',
        run: () => ({
          settings: ['kl.beta=0.05', 'kl.level=sequence_sum', 'optimizer.learningRate=0.01'],
          steps: 3,
          stages: { objective: withKl({ level: 'token' }) },
        }),
        // Tokens weigh otherwise too.
        orAs: ['B41'],
      },
      {
        name: 'not corrected for the policy that sampled',
        run: () => ({
          settings: [
            'kl.beta=0.05',
            'kl.biasCorrected=true',
            'objective.oldLogprobs=sampler',
            'objective.iterations=3',
            'optimizer.learningRate=0.02',
          ],
          steps: 3,
          stages: { objective: withKl({ biasCorrected: false }) },
        }),
      },
    ],
  },
  {
    code: 'B49',
    variants: [
      {
        name: 'a learning rate that throws the policy away between updates',
        run: () => ({
          settings: [
            'kl.beta=0.001',
            'objective.oldLogprobs=sampler',
            'objective.iterations=4',
            'optimizer.learningRate=0.3',
          ],
        }),
      },
      {
        name: 'k3 with its sign turned: negative',
        run: kl(({ logprobs_T }, reference_T) => {
          const d = reference_T.sub(logprobs_T);
          return d.sub(d.expm1());
        }),
        orAs: ['B48'],
      },
    ],
  },
  {
    code: 'B50',
    variants: [
      {
        name: 'fed with β × KL',
        run: () => ({
          settings: ['kl.beta=0.05', 'kl.control=adaptive', 'kl.target=0.1', 'optimizer.learningRate=0.005'],
          steps: 6,
          plant: ({ config }) => ({ control: new Weighted(config) }),
        }),
      },
      {
        name: 'fed with nothing',
        run: () => ({
          settings: [
            'kl.beta=0.05',
            'kl.control=lagrangian',
            'kl.target=0.01',
            'optimizer.learningRate=0.005',
          ],
          steps: 4,
          plant: ({ config }) => ({
            control: new Control({ ...config, kl: { ...config.kl, control: 'fixed' } }),
          }),
        }),
      },
    ],
  },
  {
    code: 'B51',
    variants: [
      {
        name: 'a base model in place of the SFT policy',
        run: () => {
          let base: OwningDecoder | undefined;
          return {
            settings: ['kl.beta=0.05'],
            plant: ({ model }) => {
              base = initDecoder(model.decoder.config, { seed: 9, std: 0.08 });
              return { reference: base };
            },
            close: () => base?.dispose(),
          };
        },
      },
      {
        name: 'the policy’s own weights, shared, for 4 steps',
        run: () => ({
          steps: 4,
          settings: ['kl.beta=0.05', 'optimizer.learningRate=0.01'],
          plant: ({ model }) => ({ reference: model.decoder }),
        }),
      },
      {
        name: 'made anew from the policy at each step, for 4 steps',
        run: () => ({
          steps: 4,
          settings: ['kl.beta=0.05', 'optimizer.learningRate=0.01'],
          plant: ({ model, reference, stages }) => ({
            stages: {
              ...stages,
              render(...args) {
                noGrad(() => {
                  for (const [name, weights] of reference!.parameters)
                    weights.copy_(model.decoder.parameters.get(name)!);
                });
                return stages.render(...args);
              },
            },
          }),
        }),
      },
    ],
  },
];
