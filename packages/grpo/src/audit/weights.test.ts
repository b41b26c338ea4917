import { noGrad } from '@grpo/torch';
import { expect, it, onTestFinished } from 'vitest';
import { checksumOf, type Decoder, type OwningDecoder, weightsChecksum } from '../models/index.js';
import { grpoStep } from '../step/grpo-step.js';
import { MovingReference } from '../step/moving-reference.js';
import { type Stages, stages as standardStages } from '../step/stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import { Audit } from './audit.js';

interface Plant {
  settings?: readonly string[];
  stages?(first: OwningDecoder): Partial<Stages>;
  /** Between the first step and the one that is audited. */
  between?(trainer: Trainer): void;
  plant?(trainer: Trainer): Partial<Trainer>;
}

/** What the audit of a second step compares of the weights. */
async function audited({ settings = [], stages, between, plant }: Plant): Promise<Comparison[]> {
  const model = fixtureModel('llama3', 'bfloat16');
  const [reference, first] = [model.decoder.clone(), model.decoder.clone()];
  for (const decoder of [reference, first]) onTestFinished(() => decoder.dispose());
  let trainer = trainerOf(
    model,
    ['kl.beta=0.05', 'optimizer.learningRate=1e-2', 'train.steps=2', ...settings],
    { score: spreadRewards, ...stages?.(first) },
    reference,
  );
  if (trainer.config.kl.referenceEvery > 0) {
    const movingReference = new MovingReference(reference, trainer);
    onTestFinished(() => movingReference[Symbol.dispose]());
    trainer = { ...trainer, movingReference };
  }
  trainer = { ...trainer, ...plant?.(trainer) };
  await grpoStep(trainer, PROBLEMS, 0, 1e-2);
  trainer.checksums = {
    first: weightsChecksum(first),
    policy: weightsChecksum(model.decoder),
    optimizer: checksumOf(trainer.optimizer.state().values()),
    reference: weightsChecksum(reference),
  };
  between?.(trainer);
  const audit = new Audit(trainer);
  await grpoStep({ ...trainer, observers: audit.observers }, PROBLEMS, 1, 1e-2);
  return audit.record.comparisons.filter(({ handOver }) => handOver === 'weights');
}

const apart = (comparisons: readonly Comparison[]) =>
  comparisons.filter(({ deviation, bound }) => !(deviation <= bound)).map(({ quantity }) => quantity);

const MOVES = [
  'kl.referenceEvery=2',
  'kl.referenceMix=0.3',
  'objective.iterations=3',
  'objective.oldLogprobs=recompute',
];

it.each([[[]], [MOVES]])('weights that are as they should be: %j', async (settings) => {
  const comparisons = await audited({ settings });
  expect(comparisons.map(({ quantity }) => quantity)).toEqual([
    'checksum of the weights that sampled',
    'checksum of the policy',
    'checksum of the optimizer',
    'checksum of the reference',
    'weight of the reference',
  ]);
  expect(apart(comparisons)).toEqual([]);
});

it.each<[string, string, Plant]>([
  [
    'a sampler that keeps the first weights',
    'checksum of the weights that sampled',
    {
      stages: (first) => ({
        sample: (model, ...rest) => standardStages.sample({ ...model, decoder: first }, ...rest),
      }),
    },
  ],
  [
    'a policy that changes between steps',
    'checksum of the policy',
    {
      between: ({ model }) => noGrad(() => model.decoder.parameters.get('model.norm.weight')!.mul_(1.5)),
    },
  ],
  [
    'a reference that changes between steps',
    'checksum of the reference',
    {
      between: ({ reference }) => noGrad(() => reference!.parameters.get('model.norm.weight')!.mul_(1.5)),
    },
  ],
  [
    'a reference that is the policy',
    'weight of the reference',
    { plant: ({ model }) => ({ reference: model.decoder }) },
  ],
  [
    'a policy that is mixed in by another share',
    'weight of the reference',
    {
      settings: MOVES,
      plant: ({ reference, movingReference, config, ...trainer }) => {
        movingReference![Symbol.dispose]();
        const other = { ...config, kl: { ...config.kl, referenceMix: 0.7 } };
        const moving = new MovingReference(reference!, { ...trainer, config: other });
        onTestFinished(() => moving[Symbol.dispose]());
        return { movingReference: moving };
      },
    },
  ],
])('%s: %s', async (_, quantity, plant) => {
  expect(apart(await audited(plant))).toContain(quantity);
});

it.each<[string, string, (trainer: Trainer, first: Decoder) => void]>([
  [
    'checksum of the policy',
    'the weights that the run began with',
    ({ model }, first) => copyInto(model.decoder, first),
  ],
  [
    'checksum of the reference',
    'the weights of the policy',
    ({ model, reference }) => copyInto(reference!, model.decoder),
  ],
])('%s is explained by %s', async (quantity, what, between) => {
  const first = fixtureModel('llama3', 'bfloat16').decoder;
  const off = await audited({ between: (trainer) => between(trainer, first) });
  expect(off.find((one) => one.quantity === quantity)).toMatchObject({ explained: what });
});

const copyInto = (to: Decoder, from: Decoder) =>
  noGrad(() => {
    for (const [name, tensor] of to.parameters) tensor.copy_(from.parameters.get(name)!);
  });
