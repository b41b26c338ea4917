/** The KL, or the reference that it is measured to, is another. */

import { noGrad } from '@grpo/torch';
import { initDecoder } from '../../models/index.js';
import type { LossParts } from '../plain-loss.js';
import { lossWith } from '../plain-loss.js';
import type { Fault } from './fault.js';

const kl = (estimate: LossParts['kl']) => () => ({
  settings: ['kl.beta=0.05', 'optimizer.learningRate=0.01'],
  steps: 3,
  stages: { objective: lossWith({ kl: estimate }) },
});

export const klFaults: readonly Fault[] = [
  {
    code: 'B48',
    title: 'KL estimator misuse',
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
    ],
  },
  {
    code: 'B49',
    title: 'KL explosion or impossible values',
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
    code: 'B51',
    title: 'Reference is not the intended anchor',
    variants: [
      {
        name: 'a base model in place of the SFT policy',
        run: () => ({
          settings: ['kl.beta=0.05'],
          plant: ({ model }) => ({ reference: initDecoder(model.decoder.config, { seed: 9, std: 0.08 }) }),
        }),
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
