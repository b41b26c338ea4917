import { AdamW, type AdamWOptions, noGrad, type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Watch } from '../progress/watch.js';
import { learningRateAt } from '../run/schedule.js';
import { grpoStep } from '../step/grpo-step.js';
import { type Stages, stages as standardStages } from '../step/stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../step/step.test.helper.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import { Audit } from './audit.js';

const SETTINGS = [
  'optimizer.learningRate=1e-3',
  'optimizer.weightDecay=0.1',
  'optimizer.maxGradNorm=0.1',
  'optimizer.warmupSteps=2',
  'optimizer.schedule=cosine',
  'train.steps=9',
  'train.microBatchTokens=30',
];

interface Plant {
  settings?: readonly string[];
  dtype?: 'float32' | 'bfloat16';
  /** Of the optimizer, where it is not made as declared. */
  options?: Partial<AdamWOptions>;
  /** Steps before the audited one. */
  before?: number;
  plant?(trainer: Trainer): Partial<Trainer> | undefined;
  update?(...args: Parameters<Stages['update']>): ReturnType<Stages['update']>;
  rate?(step: number, trainer: Trainer): number;
}

/** What an audited step compares of the gradient's way into the weights. */
async function audited({
  settings = [],
  dtype,
  options,
  before = 2,
  plant,
  update = standardStages.update,
  rate = (step, { config }) => learningRateAt(config.optimizer, step, config.train.steps),
}: Plant): Promise<Comparison[]> {
  const model = fixtureModel('llama3', dtype);
  let trainer = trainerOf(model, [...SETTINGS, ...settings], { score: spreadRewards, update });
  if (options) {
    trainer.optimizer = new AdamW(model.decoder.trainable, { ...trainer.config.optimizer, ...options });
    onTestFinished(() => trainer.optimizer.dispose());
  }
  trainer = { ...trainer, ...plant?.(trainer) };
  let audit = new Audit(trainer);
  for (let step = 0; step <= before; step++) {
    audit = new Audit(trainer);
    await grpoStep({ ...trainer, observers: audit.observers }, PROBLEMS, step, rate(step, trainer));
  }
  return audit.record.comparisons.filter(({ handOver }) => handOver === 'update' || handOver === 'loss');
}

const apart = (comparisons: readonly Comparison[]) =>
  comparisons.filter(({ deviation, bound }) => !(deviation <= bound)).map(({ quantity }) => quantity);

const masters = (optimizer: AdamW, change: (state: Map<string, Tensor>) => void) =>
  noGrad(() => tidy(() => change(optimizer.state())));

describe('an update as declared', () => {
  it.each([
    { dtype: 'float32' as const },
    { dtype: 'bfloat16' as const },
    { settings: ['objective.iterations=2', 'objective.minibatches=2', 'objective.oldLogprobs=recompute'] },
    { settings: ['optimizer.maxGradNorm=0'], before: 0 },
    { settings: ['advantage.flat=drop'] },
  ])('%o is within its bounds', async (plant) => {
    const comparisons = await audited(plant);
    expect(apart(comparisons)).toEqual([]);
    const weights = comparisons.find(({ quantity }) => quantity === 'weight after the update')!;
    expect(weights.compared).toBeGreaterThan(1000);
  });
});

const ELEMENTS = [
  'weight after the update',
  'first moment (mean of the gradients)',
  'second moment (mean of the squared gradients)',
];

describe('an update that is not as declared', () => {
  it.each<[string, string, Plant]>([
    ['another ε', 'ε by the weights that are off', { options: { epsilon: 1e-5 } }],
    ['no decay', 'weight decay by the weights that are off', { options: { weightDecay: 0 } }],
    ['another β1', ELEMENTS[1]!, { options: { beta1: 0.95 } }],
    ['another β2', ELEMENTS[2]!, { options: { beta2: 0.99 } }],
    [
      'a rate × 2',
      'move of all weights, as a share of the declared one,',
      { update: (optimizer, rate, norm) => standardStages.update(optimizer, 2 * rate, norm) },
    ],
    [
      'half of the clip',
      ELEMENTS[1]!,
      { update: (optimizer, rate, norm) => standardStages.update(optimizer, rate, norm / 2) },
    ],
    [
      'no bias correction: steps that count from far',
      'number of updates that the optimizer counts',
      {
        update: (optimizer, rate, norm) => {
          masters(optimizer, (state) => {
            for (const [name, tensor] of state) if (name.endsWith('.step')) tensor.fill_(1e4);
          });
          return standardStages.update(optimizer, rate, norm);
        },
      },
    ],
    [
      'moments of another tensor',
      ELEMENTS[1]!,
      {
        update: (optimizer, rate, norm) => {
          const result = standardStages.update(optimizer, rate, norm);
          masters(optimizer, (state) => {
            const layer = (part: string) => state.get(`model.layers.0.${part}.mean`)!;
            layer('self_attn.k_proj.weight').copy_(layer('self_attn.v_proj.weight'));
          });
          return result;
        },
      },
    ],
    [
      'a tensor left out',
      'tensor of the optimizer',
      {
        plant: ({ model, config }) => {
          const [, ...rest] = model.decoder.trainable;
          const optimizer = new AdamW(new Map(rest), config.optimizer);
          onTestFinished(() => optimizer.dispose());
          return { optimizer };
        },
      },
    ],
    [
      'a frozen tensor',
      'tensor of the optimizer',
      {
        plant: ({ model }) => {
          model.decoder.parameters.get('model.norm.weight')!.requiresGrad = false;
          return undefined;
        },
      },
    ],
    ['a warm-up that is missing', 'learning rate', { rate: () => 1e-3, before: 0 }],
    [
      'bfloat16 that is not rounded from the masters',
      'weight of the forward pass',
      {
        dtype: 'bfloat16',
        update: (optimizer, rate, norm) => {
          const result = standardStages.update(optimizer, rate, norm);
          masters(optimizer, (state) => {
            for (const [name, tensor] of state) if (name.endsWith('.master')) tensor.mul_(1.01);
          });
          return result;
        },
      },
    ],
    [
      'gradients of the step before',
      'tensors with a gradient when an update begins',
      {
        plant: ({ optimizer }) => {
          // The optimizer clears its gradients by its own means after a step.
          optimizer.zeroGrad = () => undefined;
          return undefined;
        },
      },
    ],
    [
      'gradients cleared between passes',
      'tensors whose gradient changes between two micro-batches',
      {
        plant: ({ optimizer }) => {
          const watch = new Watch();
          watch.breathe = async () => optimizer.zeroGrad();
          return { watch };
        },
      },
    ],
    [
      'masters of other weights',
      'weight of the forward pass',
      {
        dtype: 'bfloat16',
        before: 0,
        plant: ({ optimizer }) => {
          masters(optimizer, (state) => {
            for (const [name, tensor] of state) if (name.endsWith('.master')) tensor.mul_(1.01);
          });
          return undefined;
        },
      },
    ],
    [
      'every second pass skipped',
      'backward passes that change the gradient',
      {
        plant: ({ optimizer }) => {
          const accumulate = optimizer.accumulate.bind(optimizer);
          let passes = 0;
          optimizer.accumulate = (pass) => {
            if (passes++ % 2 === 0) accumulate(pass);
          };
          return undefined;
        },
      },
    ],
  ])('%s: %s', async (_, quantity, plant) => {
    expect(apart(await audited(plant))).toContain(quantity);
  });
});

it.each<[string, string, Plant]>([
  [
    'gradients that are not clipped',
    ELEMENTS[1]!,
    { update: (optimizer, rate) => standardStages.update(optimizer, rate, 0) },
  ],
  ['β1 and β2 in the place of each other', ELEMENTS[2]!, { options: { beta1: 0.999, beta2: 0.9 } }],
])('an update by %s is explained: %s', async (what, quantity, plant) => {
  const own = (await audited(plant)).find((one) => one.quantity === quantity)!;
  expect([own.deviation > own.bound, own.explained]).toEqual([true, what]);
});

it('an update that is skipped is told as one', async () => {
  const skip: Stages['update'] = (optimizer) => {
    optimizer.zeroGrad();
    return { gradNorm: 1, learningRate: 1e-3 };
  };
  const [first] = (await audited({ update: skip })).filter(({ deviation, bound }) => !(deviation <= bound));
  expect(first).toMatchObject({ quantity: 'update', found: 'skipped: nothing changed', plain: 'made' });
});

it('what costs nothing beside a step finds a wrong rate, too', async () => {
  const model = fixtureModel('llama3');
  const trainer = trainerOf(model, SETTINGS, { score: spreadRewards });
  const audit = new Audit(trainer, { isWhole: false });
  const rate = 2 * learningRateAt(trainer.config.optimizer, 0, trainer.config.train.steps);
  await grpoStep({ ...trainer, observers: audit.observers }, PROBLEMS, 0, rate);
  expect(apart(audit.record.comparisons)).toContain('learning rate');
  expect(audit.record.completions).toEqual([]);
});

it('an update of one’s own is not held to AdamW', async () => {
  const model = fixtureModel('llama3');
  const trainer = { ...trainerOf(model, SETTINGS, { score: spreadRewards }), ownStages: ['update'] };
  const audit = new Audit(trainer);
  await grpoStep({ ...trainer, observers: audit.observers }, PROBLEMS, 0, 1);
  const compared = audit.record.comparisons.filter(({ handOver }) => handOver === 'update');
  expect(compared.map(({ quantity }) => quantity)).toEqual(['tensor of the optimizer']);
  expect(audit.record.missing.map(({ handOver }) => handOver)).toContain('update');
});
