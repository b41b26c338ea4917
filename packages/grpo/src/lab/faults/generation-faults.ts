/** Completions are not drawn as they should be. */

import { noGrad, tidy } from '@grpo/torch';
import { TokenSets } from '../../formats/token-sets.js';
import { type Model, OwningDecoder } from '../../models/index.js';
import type { SamplingOptions } from '../../rollout/index.js';
import { penalize } from '../../rollout/penalties.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { plainSample } from '../plain-sample.js';
import { plainScores } from '../plain-scores.js';
import type { PlantedFault } from './planted-fault.js';

/** A sampler that was told otherwise than the trainer. */
const overridden =
  (changes: Partial<SamplingOptions>): Stages['sample'] =>
  (model, requests, options, seed) =>
    standard.sample(model, requests, { ...options, ...changes }, seed);

/** A sampler whose penalties count the prompt’s tokens too. */
const penalizingPrompts: Stages['sample'] = async (model, requests, options, seed) =>
  plainSample(model, requests, options, seed, (logits_NV, rows) =>
    penalize(
      logits_NV,
      rows.map(({ prompt, ids }) => [...prompt, ...ids]),
      options,
    ),
  );

/** Samples with weights of another precision. */
const sampleInHalf: Stages['sample'] = async (model, requests, options, seed) => {
  const { decoder } = model;
  const rounded = noGrad(() =>
    tidy(
      () =>
        new Map(
          [...decoder.parameters].map(([name, p]) => [name, p.detach().to('bfloat16').to('float32').clone()]),
        ),
    ),
  );
  using half = new OwningDecoder(decoder.config, rounded);
  return await standard.sample({ ...model, decoder: half }, requests, options, seed);
};

/** Gives the log-probs of the truncated distribution as those of the plain one. */
const afterTruncation: Stages['sample'] = async (...args) => {
  const groups = await standard.sample(...args);
  return groups.map((group) => group.map((one) => ({ ...one, logprobs: one.sampledLogprobs })));
};

/** Gives each token the ids that the next one was drawn from. */
const supportsEarly: Stages['sample'] = async (...args) => {
  const groups = await standard.sample(...args);
  return groups.map((group) =>
    group.map((one) => ({
      ...one,
      support: moved(one.support!, (t) => Math.min(t + 1, one.ids.length - 1)),
    })),
  );
};

/** Sets of other tokens in place of those of each. */
const moved = (sets: TokenSets, from: (t: number) => number) =>
  TokenSets.of(Array.from({ length: sets.length }, (_, t) => sets.ids(from(t))));

/** The ids that the token before was drawn from, and the token: what was drawn always has a log-prob. */
const besides = (sets: TokenSets, ids: readonly number[]) =>
  TokenSets.of(ids.map((id, t) => [...new Set([...sets.ids(Math.max(0, t - 1)), id])].sort((a, b) => a - b)));

/** A trainer that scores tokens over other ids than they were drawn from. */
const scoredOver =
  (change: (sets: TokenSets, ids: readonly number[]) => TokenSets | undefined): Stages['logprob'] =>
  (decoder, groups, ...rest) =>
    standard.logprob(
      decoder,
      groups.map((group) => ({
        ...group,
        support: group.completions.map((ids, i) => group.support?.[i] && change(group.support[i], ids)),
      })),
      ...rest,
    );

const knowing = (model: Model, endIds: readonly number[]): Model => ({ ...model, endIds: new Set(endIds) });

/** Trains without the ids that sampling kept. */
const WHOLE = 'rollout.keepSupport=false';

export const generationFaults: readonly PlantedFault[] = [
  {
    code: 'B15',
    variants: [
      {
        name: 'presence penalty',
        run: () => ({ settings: ['rollout.presencePenalty=1.5'], stages: { sample: penalizingPrompts } }),
      },
      {
        name: 'repetition penalty',
        run: () => ({ settings: ['rollout.repetitionPenalty=1.5'], stages: { sample: penalizingPrompts } }),
      },
    ],
  },
  {
    code: 'B16',
    variants: [
      {
        name: 'the sampler knows one of two end tokens',
        run: () => ({
          stages: {
            sample: (model, ...rest) => standard.sample(knowing(model, [[...model.endIds].at(-1)!]), ...rest),
          },
        }),
      },
      {
        name: 'the end forbidden by a least length, for 4 steps',
        run: () => ({ steps: 4, settings: ['rollout.minNewTokens=12'] }),
      },
    ],
  },
  {
    code: 'B17',
    variants: [
      {
        name: 'one seed for every request of a prompt',
        run: () => ({
          settings: ['rollout.temperature=1.3'],
          stages: {
            async sample(model, requests, options, seed) {
              const single = requests.map((request) => ({ ...request, count: 1 }));
              const groups = await standard.sample(model, single, options, seed);
              return groups.map(([one], p) => Array.from({ length: requests[p]!.count }, () => one!));
            },
          },
        }),
      },
      {
        name: 'two streams for six completions',
        run: () => ({
          settings: ['rollout.temperature=1.3'],
          stages: {
            async sample(model, requests, options, seed) {
              const pair = requests.map((request) => ({ ...request, count: 2 }));
              const groups = await standard.sample(model, pair, options, seed);
              return groups.map((group, p) =>
                Array.from({ length: requests[p]!.count }, (_, i) => group[i % 2]!),
              );
            },
          },
        }),
      },
    ],
  },
  {
    code: 'B18',
    variants: [
      { name: 'top-p 0.7', run: () => ({ stages: { sample: overridden({ topP: 0.7 }) } }) },
      { name: 'top-k 2', run: () => ({ stages: { sample: overridden({ topK: 2 }) } }) },
      { name: 'temperature 0.6', run: () => ({ stages: { sample: overridden({ temperature: 0.6 }) } }) },
      {
        name: 'repetition penalty 1.3',
        run: () => ({ stages: { sample: overridden({ repetitionPenalty: 1.3 }) } }),
      },
      {
        name: 'greedy',
        run: () => ({ stages: { sample: overridden({ temperature: 0 }) } }),
        orAs: ['B17'],
      },
    ],
  },
  {
    code: 'B19',
    variants: [
      {
        name: 'scored at temperature 1',
        run: () => ({
          settings: ['rollout.temperature=0.7'],
          stages: { logprob: (decoder, groups) => standard.logprob(decoder, groups, 1) },
        }),
      },
      {
        name: 'divided by the temperature twice',
        run: () => ({
          settings: ['rollout.temperature=1.5'],
          stages: {
            logprob: (decoder, groups, temperature) =>
              plainScores(decoder, groups, temperature, { temperature: temperature * temperature }),
          },
        }),
        orAs: ['B39'],
      },
      {
        name: 'the sampler’s log-probs taken after top-p 0.9',
        run: () => ({ settings: ['rollout.topP=0.9', WHOLE], stages: { sample: afterTruncation } }),
      },
      {
        name: 'the same in bfloat16',
        run: () => ({
          policy: { dtype: 'bfloat16' },
          settings: ['rollout.topP=0.9', WHOLE],
          stages: { sample: afterTruncation },
        }),
      },
      {
        name: 'top-p 0.5, not corrected for',
        run: () => ({ settings: ['rollout.topP=0.5', WHOLE] }),
      },
    ],
  },
  {
    code: 'B39',
    variants: [
      {
        name: 'sampled with weights in bfloat16',
        run: () => ({ stages: { sample: sampleInHalf } }),
        // They are not the weights that training has.
        orAs: ['B55'],
      },
    ],
  },
  {
    code: 'B69',
    variants: [
      {
        name: 'supports of the tokens after, which nobody reads',
        run: () => ({
          settings: ['rollout.topP=0.8'],
          stages: { sample: supportsEarly, logprob: scoredOver(() => undefined) },
        }),
      },
      {
        name: 'the sampler’s log-probs of the whole vocabulary beside its supports',
        run: () => ({
          settings: ['rollout.topP=0.8', 'objective.oldLogprobs=sampler'],
          stages: {
            sample: async (...args) => {
              const groups = await standard.sample(...args);
              return groups.map((group) => group.map((one) => ({ ...one, sampledLogprobs: one.logprobs })));
            },
          },
        }),
      },
      {
        name: 'a trainer that scores over the whole vocabulary',
        run: () => ({
          settings: ['rollout.topP=0.8', 'objective.oldLogprobs=sampler'],
          stages: { logprob: scoredOver(() => undefined) },
        }),
      },
      {
        name: 'a trainer that scores over the supports of the tokens before',
        run: () => ({
          settings: ['rollout.topK=4', 'objective.oldLogprobs=sampler'],
          stages: { logprob: scoredOver((sets, ids) => besides(sets, ids)) },
        }),
      },
    ],
  },
];
