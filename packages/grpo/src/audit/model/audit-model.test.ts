import { describe, expect, it } from 'vitest';
import { TokenSets } from '../../formats/token-sets.js';
import type { MaskedView } from '../../objective/index.js';
import { grpoStep } from '../../step/grpo-step.js';
import type { StepObserver } from '../../step/observer.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf } from '../../step/step.test.helper.js';
import type { Trainer } from '../../step/trainer.js';
import type { HandOver } from '../../trace/index.js';
import { chosenOf } from '../chosen.js';
import type { Measured } from '../context.js';
import { auditModel } from './audit-model.js';

const observer = (trainer: Trainer, measured: Measured[]): StepObserver => ({
  compared: (batch, step) => {
    const chosen = chosenOf(batch, 0, step, 1);
    measured.push(...auditModel({ trainer, batch, step, chosen, tell: () => {} }));
  },
});

/** Audits some steps; hand-overs that do not hold, and that could not be compared. */
async function audited(
  name: string,
  settings: readonly string[] = [],
  stages: Partial<Stages> = {},
  steps = 2,
) {
  const model = fixtureModel(name, name.endsWith('bf16') ? 'bfloat16' : 'float32');
  const reference = settings.some((setting) => setting.startsWith('kl.beta'))
    ? model.decoder.clone()
    : undefined;
  const trainer = trainerOf(model, settings, { score: spreadRewards, ...stages }, reference);
  const apart = new Set<HandOver>();
  const missing = new Set<string>();
  const compared = new Set<string>();
  for (let step = 0; step < steps; step++) {
    const measured: Measured[] = [];
    await grpoStep({ ...trainer, observers: [observer(trainer, measured)] }, PROBLEMS, step, 1e-3);
    for (const one of measured) {
      if ('missing' in one) missing.add(one.missing);
      for (const { quantity, deviation, bound, handOver } of 'comparisons' in one ? one.comparisons : []) {
        compared.add(quantity);
        if (!(deviation <= bound)) apart.add(handOver);
      }
    }
  }
  reference?.dispose();
  return { apart: [...apart], missing: [...missing], compared: [...compared] };
}

const CLEAN: [string, string[]][] = [
  ['gpt2', []],
  ['llama3', ['rollout.temperature=0.7', 'rollout.topP=0.9']],
  ['llama3-tied', ['kl.beta=0.1', 'objective.oldLogprobs=recompute', 'objective.loss=dapo']],
  [
    'qwen2',
    [
      'rollout.repetitionPenalty=1.2',
      'rollout.topK=20',
      'rollout.keepSupport=false',
      'rollout.minNewTokens=3',
    ],
  ],
  ['qwen2-untied', ['objective.loss=grpo', 'objective.oldLogprobs=sampler', 'rollout.minP=0.05']],
  ['llama3', ['rollout.topP=0.8', 'rollout.keepSupport=false', 'kl.beta=0.1']],
  [
    'qwen2',
    ['rollout.topK=9', 'rollout.topP=0.9', 'kl.beta=0.1', 'entropy.coefficient=0.01', 'objective.loss=grpo'],
  ],
  ['qwen3', ['entropy.coefficient=0.01', 'objective.loss=bnpo', 'kl.beta=0.05', 'kl.estimator=k1']],
  ['qwen3-bf16', ['rollout.topP=0.95', 'kl.beta=0.1']],
];

const CLEAN_MASKED: [string, string[]][] = [
  ['a2d-qwen2', ['diffusion.estimator=d1', 'diffusion.steps=6', 'kl.beta=0.1']],
  [
    'a2d-qwen3',
    ['diffusion.estimator=coupled', 'diffusion.blockLength=4', 'objective.oldLogprobs=recompute'],
  ],
  ['dream', ['diffusion.estimator=sum_masked', 'rollout.temperature=0.7', 'entropy.coefficient=0.01']],
  ['llada', ['diffusion.estimator=coupled', 'diffusion.remasking=random', 'kl.beta=0.05', 'kl.estimator=k1']],
  ['a2d-qwen3-bf16', ['diffusion.estimator=coupled', 'kl.beta=0.1']],
];

describe('the audit of a clean step', () => {
  it.each(CLEAN)('finds every hand-over of %s within its bounds: %s', async (name, settings) => {
    const { apart, missing, compared } = await audited(name, settings);
    expect({ apart, missing }).toEqual({ apart: [], missing: [] });
    expect(compared).toEqual(
      expect.arrayContaining([
        'log-prob of the sampler',
        'log-likelihood of the draws at the declared temperature × 2',
        'random number of a draw',
        'log-prob of the policy',
        'distance to the plain gradient',
      ]),
    );
  });

  it.each(CLEAN_MASKED)('finds every hand-over of %s within its bounds: %s', async (name, settings) => {
    const { apart, missing, compared } = await audited(name, settings);
    expect({ apart, missing }).toEqual({ apart: [], missing: [] });
    expect(compared).toEqual(
      expect.arrayContaining([
        'log-prob of the sampler',
        'random number of a draw',
        'log-prob of the policy',
        'distance to the plain gradient',
      ]),
    );
  });

  it('says what it has no plain form for', async () => {
    const { apart, missing } = await audited('qwen3', ['kl.beta=0.1', 'kl.estimator=full']);
    expect({ apart, missing }).toEqual({
      apart: [],
      missing: ['a plain form of the KL over the whole vocabulary'],
    });
  });
});

const rising = (a: number, b: number) => a - b;

const setsOf = (length: number, ids: (t: number) => number[]) =>
  TokenSets.of(Array.from({ length }, (_, t) => ids(t)));

/** Samples every step with the random numbers of the first. */
const repeatingNumbers: Partial<Stages> = {
  sample: async (model, requests, ...rest) =>
    standard.sample(
      model,
      requests.map((one) => ({ ...one, keys: [0, one.keys[1]!] })),
      ...rest,
    ),
};

/** A step whose stage does its work wrongly, and the hand-over that shows it first. */
const SICK: [string, Partial<Stages>, HandOver, string[]?, string?][] = [
  [
    'a sampler that draws colder than it says',
    {
      sample: async (model, requests, options, ...rest) =>
        standard.sample(model, requests, { ...options, temperature: 0.8 }, ...rest),
    },
    'completion',
  ],
  [
    'completions given to the wrong prompt',
    {
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        return [...groups.slice(1), groups[0]!];
      },
    },
    'completion',
  ],
  ['the random numbers of the first step in every step', repeatingNumbers, 'completion'],
  [
    'the random numbers of one prompt for all',
    {
      sample: async (model, requests, ...rest) =>
        standard.sample(
          model,
          requests.map((one) => ({ ...one, keys: requests[0]!.keys })),
          ...rest,
        ),
    },
    'completion',
    ['rollout.topP=0.9'],
  ],
  [
    'the random numbers of another seed, in half precision',
    {
      sample: async (model, requests, options, seed, watch) =>
        standard.sample(model, requests, options, seed + 1, watch),
    },
    'completion',
    [],
    'qwen3-bf16',
  ],
  [
    'completions that are copies',
    {
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        return groups.map((group) => group.map(() => group[0]!));
      },
    },
    'completion',
  ],
  [
    'log-probs at another temperature',
    { logprob: (decoder, groups, _, options) => standard.logprob(decoder, groups, 1.1, options) },
    'old log-probs',
  ],
  [
    'a loss of half the size',
    {
      objective: (input) => {
        const output = standard.objective(input);
        return { ...output, loss: output.loss.mul(0.5) };
      },
    },
    'gradient',
  ],
  [
    'supports with an id too many',
    {
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        return groups.map((group) =>
          group.map((one) => ({
            ...one,
            support: setsOf(one.support!.length, (t) =>
              [...new Set([...one.support!.ids(t), 7])].sort(rising),
            ),
          })),
        );
      },
    },
    'completion',
    ['rollout.topP=0.8'],
  ],
  [
    'supports that are not kept',
    {
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        return groups.map((group) => group.map(({ support: _, ...one }) => one));
      },
    },
    'completion',
    ['rollout.topP=0.8'],
  ],
  [
    'log-probs over the whole vocabulary',
    {
      logprob: (decoder, groups, ...rest) =>
        standard.logprob(
          decoder,
          groups.map(({ support: _, ...group }) => group),
          ...rest,
        ),
    },
    'old log-probs',
    ['rollout.topP=0.8'],
  ],
  [
    'advantages that are swapped between completions',
    {
      objective: (input) =>
        standard.objective({ ...input, advantages: Array.from(input.advantages).reverse() }),
    },
    'gradient',
  ],
  [
    'a KL that is left out',
    {
      objective: (input) => standard.objective({ ...input, betas: Array.from(input.betas, () => 0) }),
    },
    'gradient',
    ['kl.beta=0.1'],
  ],
];

/** Estimates with other views than are planned. */
const scoredBy =
  (change: (view: MaskedView) => MaskedView): Stages['logprob'] =>
  (decoder, groups, ...rest) => {
    const changed = groups.map((group) => ({
      ...group,
      masked: group.masked!.map(({ region, plan }) => ({ region, plan: plan.map(change) })),
    }));
    return standard.logprob(decoder, changed, ...rest);
  };

/** A stage of a masked-diffusion model that does its work wrongly. */
const SICK_MASKED: [string, Partial<Stages>, HandOver, string[]?][] = [
  ['the random numbers of the first step in every step', repeatingNumbers, 'completion'],
  [
    'a sampler that tells another order of filling',
    {
      sample: async (...args) => {
        const groups = await standard.sample(...args);
        return groups.map((group) =>
          group.map((one) => ({
            ...one,
            region: { ids: one.region!.ids, order: one.region!.order.toReversed() },
          })),
        );
      },
    },
    'completion',
  ],
  [
    'log-probs that are estimated with other masks',
    {
      logprob: scoredBy((view) => ({ ...view, prompt: view.prompt.map(() => 0) })),
    },
    'old log-probs',
    ['diffusion.promptMaskRate=0.4'],
  ],
  [
    'a loss without the weights of its passes',
    {
      logprob: scoredBy((view) => ({ ...view, weight: 0.5 })),
    },
    'old log-probs',
    ['diffusion.estimator=coupled'],
  ],
];

describe('the audit of a sick step', () => {
  it.each(SICK_MASKED)('names the hand-over of %s', async (_, stages, handOver, settings = []) => {
    const { apart } = await audited('a2d-qwen2', settings, stages, 3);
    expect(apart[0]).toBe(handOver);
  });

  it('names the prompt that a completion was drawn for', async () => {
    // Prompts of which each makes another token likely.
    const measured: Measured[] = [];
    const model = fixtureModel('llama3');
    const shifted: Stages['sample'] = async (...args) => {
      const groups = await standard.sample(...args);
      return [...groups.slice(1), groups[0]!];
    };
    const settings = ['rollout.maxNewTokens=60', 'rollout.minNewTokens=60', 'rollout.temperature=0.5'];
    const trainer = trainerOf(model, settings, { score: spreadRewards, sample: shifted });
    await grpoStep({ ...trainer, observers: [observer(trainer, measured)] }, PROBLEMS, 0, 1e-3);
    const own = measured.flatMap((one) => ('comparisons' in one ? one.comparisons : []));
    const { prompt, plain, found } = own.find(({ quantity }) => quantity === 'prompt of a completion')!;
    expect(found).toBe(`prompt ${prompt! + 1}`);
    expect(plain).toBe(`prompt ${((prompt! + 1) % PROBLEMS.length) + 1}`);
  });

  it.each(SICK)('names the hand-over of %s', async (_, stages, handOver, settings = [], name = 'llama3') => {
    const { apart } = await audited(name, settings, stages, 3);
    expect(apart[0]).toBe(handOver);
  });
});

/** Samples with other options, or with other keys of the random numbers. */
const sampledBy =
  (
    options: Partial<Parameters<Stages['sample']>[2]>,
    keys: (own: readonly number[]) => readonly number[] = (own) => own,
  ): Stages['sample'] =>
  (model, requests, own, ...rest) =>
    standard.sample(
      model,
      requests.map((one) => ({ ...one, keys: keys(one.keys) })),
      { ...own, ...options },
      ...rest,
    );

const DRAWN = 'log-prob under the distribution drawn from';
const NUMBER = 'random number of a draw';

describe('draws that other rules give', () => {
  it.each<[string, string, Stages['sample'], string[]]>([
    [DRAWN, 'rollout.temperature=1', sampledBy({ temperature: 1 }), ['rollout.temperature=0.6']],
    [
      DRAWN,
      'rollout.temperature applied twice',
      sampledBy({ temperature: 0.49 }),
      ['rollout.temperature=0.7'],
    ],
    [DRAWN, 'rollout.topK=0', sampledBy({ topK: 0 }), ['rollout.topK=5', 'rollout.keepSupport=false']],
    [
      DRAWN,
      'rollout.repetitionPenalty=1',
      sampledBy({ repetitionPenalty: 1 }),
      ['rollout.repetitionPenalty=1.5', 'rollout.maxNewTokens=60', 'rollout.minNewTokens=60'],
    ],
    [NUMBER, 'the random numbers of the first step', sampledBy({}, ([, p]) => [0, p!]), []],
    [NUMBER, 'the random numbers of the step behind', sampledBy({}, ([s, p]) => [s! + 1, p!]), []],
    [
      NUMBER,
      'the random numbers of the group before',
      sampledBy({}, ([s, p]) => [s!, Math.max(0, p! - 1)]),
      [],
    ],
  ])('are named: %s, %s', async (quantity, what, sample, settings) => {
    const measured: Measured[] = [];
    const trainer = trainerOf(fixtureModel('llama3'), settings, { score: spreadRewards, sample });
    for (let step = 0; step < 3; step++)
      await grpoStep({ ...trainer, observers: [observer(trainer, measured)] }, PROBLEMS, step, 1e-3);
    const own = measured.flatMap((one) => ('comparisons' in one ? one.comparisons : []));
    const off = own.filter((one) => one.quantity === quantity && !(one.deviation <= one.bound));
    expect(off.length).toBeGreaterThan(0);
    expect(new Set(off.map(({ explained }) => explained))).toEqual(new Set([what]));
  });

  it('are not named where no rule gives them', async () => {
    const measured: Measured[] = [];
    const sample: Stages['sample'] = (model, requests, options, seed, watch) =>
      standard.sample(model, requests, { ...options, temperature: 0.83 }, seed + 1, watch);
    const trainer = trainerOf(fixtureModel('llama3'), [], { score: spreadRewards, sample });
    await grpoStep({ ...trainer, observers: [observer(trainer, measured)] }, PROBLEMS, 0, 1e-3);
    const own = measured.flatMap((one) => ('comparisons' in one ? one.comparisons : []));
    const off = own.filter((one) => [DRAWN, NUMBER].includes(one.quantity));
    expect(off.map(({ explained }) => explained)).toEqual([undefined, undefined]);
  });
});

it('leaves the weights that the step leaves without it', async () => {
  const weightsAfter = async (isAudited: boolean) => {
    const model = fixtureModel('qwen2');
    const trainer = trainerOf(model, [], { score: spreadRewards });
    for (let step = 0; step < 3; step++) {
      const observers = isAudited ? [observer(trainer, [])] : [];
      await grpoStep({ ...trainer, observers }, PROBLEMS, step, 1e-3);
    }
    return [...model.decoder.parameters.values()].map((parameter) =>
      Buffer.from(parameter.toBytes()).toString('base64'),
    );
  };
  expect(await weightsAfter(true)).toEqual(await weightsAfter(false));
});

it('is left out where memory has no room for it, and says so', async () => {
  const trainer = {
    ...trainerOf(fixtureModel('qwen2'), [], { score: spreadRewards }),
    auditLack: '1.0 GB of memory for a second computation (memory leaves 1.0 kB)',
  };
  const measured: Measured[] = [];
  await grpoStep({ ...trainer, observers: [observer(trainer, measured)] }, PROBLEMS, 0, 1e-3);
  expect(measured.map((one) => ('missing' in one ? one.missing : ''))).toEqual(
    Array(3).fill(trainer.auditLack),
  );
});
