/** The update does not reach the weights, or the sampler. */
import { type AdamW, noGrad, tidy } from '@grpo/torch';
import type { OwningDecoder } from '../../models/index.js';
import type { Peers } from '../../step/peers/peers.js';
import { stages as standard } from '../../step/stages.js';
import type { Trainer } from '../../step/trainer.js';
import type { LabRun } from '../lab-run.js';
import { plainScores } from '../plain-scores.js';
import type { PlantedFault } from './planted-fault.js';

/** Weights that keep eight bits, as bfloat16 without masters does. */
const inHalf = (learningRate: number): LabRun => ({
  settings: [`optimizer.learningRate=${learningRate}`],
  plant({ optimizer, stages }) {
    round(optimizer);
    return {
      stages: {
        ...stages,
        update(...args) {
          const norms = stages.update(...args);
          round(args[0]);
          return norms;
        },
      },
    };
  },
});

function round(optimizer: AdamW): void {
  noGrad(() =>
    tidy(() => {
      for (const { master } of optimizer.weights()) master.copy_(master.to('bfloat16'));
    }),
  );
}

const freeze =
  (names: RegExp) =>
  ({ model }: Trainer): undefined => {
    for (const [name, parameter] of model.decoder.parameters)
      if (names.test(name)) parameter.requiresGrad = false;
  };

const sums = (peers: Peers): Peers => peers;

/** Keeps its own gradients. */
const keepsOwn = (peers: Peers): Peers => ({ ...peers, sum: async () => {} });

/** Takes part in the sum, and goes on with its own gradients. */
const skipsLast = (peers: Peers): Peers => ({
  ...peers,
  async sum(tensors) {
    const own = noGrad(() => tensors.map((tensor) => tensor.clone()));
    await peers.sum(tensors);
    noGrad(() => tensors.forEach((tensor, i) => void tensor.copy_(own[i]!)));
    for (const tensor of own) tensor.dispose();
  },
});

export const optimizerFaults: readonly PlantedFault[] = [
  {
    code: 'B52',
    variants: [
      { name: 'learning rate 1e-6', run: () => inHalf(1e-6), orAs: ['H07'] },
      { name: 'learning rate 2e-5', run: () => inHalf(2e-5), orAs: ['H07'] },
      {
        name: 'the optimizer holds other tensors than the model',
        run: () => ({
          stages: {
            update(optimizer, _, maxGradNorm) {
              return standard.update(optimizer, 0, maxGradNorm);
            },
          },
        }),
      },
    ],
  },
  {
    code: 'B53',
    variants: [
      { name: 'one layer frozen', run: () => ({ plant: freeze(/\.1\./) }), orAs: ['H07'] },
      {
        name: 'hidden states detached before the head',
        run: () => ({
          stages: {
            logprob: (decoder, groups, temperature) =>
              plainScores(decoder, groups, temperature, { hidden: (x) => x.detach() }),
          },
        }),
      },
    ],
  },
  {
    code: 'B54',
    variants: [
      {
        name: 'a rate of 0 throughout, for 4 steps',
        run: () => ({ steps: 4, settings: ['optimizer.learningRate=0'] }),
      },
    ],
  },
  {
    code: 'B55',
    variants: [
      {
        name: 'the sampler keeps the first weights, for 24 steps',
        run: () => {
          let first: OwningDecoder | undefined;
          return {
            steps: 24,
            settings: ['rollout.prompts=2', 'optimizer.learningRate=3e-3'],
            plant: ({ model }) => {
              first = model.decoder.clone();
              return undefined;
            },
            stages: { sample: (model, ...rest) => standard.sample({ ...model, decoder: first! }, ...rest) },
            close: () => first?.dispose(),
          };
        },
        orAs: ['B39'],
      },
    ],
  },
  {
    code: 'B68',
    variants: [
      { name: 'gradients are not summed', run: () => ({ ranks: [keepsOwn, keepsOwn] }) },
      { name: 'one rank of three skips the sum', run: () => ({ ranks: [sums, sums, skipsLast] }) },
    ],
  },
];
