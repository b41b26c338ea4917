import { tensor } from '@grpo/torch';
import { afterAll, describe, expect, it } from 'vitest';
import { disposePolicies } from '../../lab/lab-policy.js';
import type { LabRun } from '../../lab/lab-run.js';
import type { LossInput } from '../../objective/index.js';
import { stages as standard } from '../../step/stages.js';
import type { HandOver } from '../../trace/index.js';
import { comparisonsOf } from '../audit.test.helper.js';

afterAll(disposePolicies);

const LOSS = 'slope of the loss without the KL';
const KL = 'slope of the KL in the loss';

const OFF_POLICY = ['objective.oldLogprobs=recompute', 'objective.iterations=2'];

/** Slopes that the first step's audit compares, and whether they agree. */
async function slopes(run: LabRun): Promise<Record<string, boolean>> {
  const compared = await comparisonsOf({ steps: 1, ...run });
  return Object.fromEntries(
    compared
      .filter(({ quantity }) => [LOSS, KL].includes(quantity))
      .map(({ quantity, deviation, bound }) => [quantity, deviation <= bound]),
  );
}

it.each([
  ...['grpo', 'dapo', 'dr_grpo', 'bnpo', 'gspo', 'cispo', 'sapo', 'vespo'].map((loss) => [
    `objective.loss=${loss}`,
    ...OFF_POLICY,
  ]),
  ['objective.delta=1.2', ...OFF_POLICY],
  ['objective.maskTruncated=true', 'rollout.maxNewTokens=6', ...OFF_POLICY],
  ['entropy.topShare=0.4'],
  ['entropy.coefficient=0.01'],
  ['train.microBatchTokens=40', 'objective.minibatches=2', ...OFF_POLICY],
])('of a loss as declared agree: %j', async (...settings) => {
  expect(await slopes({ settings })).toEqual({ [LOSS]: true });
});

it.each([
  ...['k1', 'k2', 'k3', 'abs'].map((estimator) => [`kl.estimator=${estimator}`]),
  ...['sequence_mean', 'sequence_sum'].map((level) => [`kl.level=${level}`]),
  ['kl.clip=0.2'],
  ['kl.biasCorrected=true', ...OFF_POLICY],
])('of a KL as declared agree: %j', async (...settings) => {
  expect(await slopes({ settings: ['kl.beta=0.1', ...settings] })).toEqual({ [LOSS]: true, [KL]: true });
});

it.each<[string, HandOver, (input: LossInput) => Partial<LossInput>]>([
  // Neither shows in a step whose ratios are 1.
  ['a wider clip', 'loss', ({ settings }) => ({ settings: { ...settings, clipHigh: 2 } })],
  ['a ratio that is left out', 'loss', () => ({ oldLogprobs_T: null })],
  ['a KL of twice the size', 'kl', ({ betas }) => ({ betas: Array.from(betas, (beta) => 2 * beta) })],
  [
    'another estimate',
    'kl',
    ({ settings }) => ({ settings: { ...settings, kl: { ...settings.kl, estimator: 'k1' } } }),
  ],
])('of %s disagree: %s', async (_, handOver, change) => {
  const run: LabRun = {
    settings: ['kl.beta=0.1', ...OFF_POLICY],
    stages: { objective: (input) => standard.objective({ ...input, ...change(input) }) },
  };
  expect(await slopes(run)).toEqual({ [LOSS]: handOver !== 'loss', [KL]: handOver !== 'kl' });
});

it('of a clip that is another names the token by what decides', async () => {
  const compared = await comparisonsOf({
    steps: 1,
    settings: [...OFF_POLICY],
    stages: {
      objective: (input) => standard.objective({ ...input, settings: { ...input.settings, clipHigh: 2 } }),
    },
  });
  const slope = compared.find(({ quantity }) => quantity === LOSS)!;
  const [, advantage, ratio] = /^a token with advantage (\S+) and ratio (\S+)$/.exec(slope.tensor!)!;
  // Such a token is clipped at 1.2.
  expect([Number(advantage) > 0, Number(ratio) > 1.2, slope.plain === 0]).toEqual([true, true, true]);
});

describe('slopes that other settings give', () => {
  const KL_SETTING = 'kl.beta=0.1';
  it.each<[string, (input: LossInput) => Partial<LossInput>, string[]?]>([
    ['objective.aggregation=sequence_mean', setting({ aggregation: 'sequence_mean' })],
    ['objective.clipHigh=0.2', setting({ clipHigh: 0.2 }), ['objective.clipHigh=0.4']],
    ['a ratio without its clip', setting({ clipLow: 1, clipHigh: 1e9 })],
    ['a ratio of 1 (old log-probs that are the current ones)', () => ({ oldLogprobs_T: null })],
    ['objective.cap left out', setting({ cap: 1e9 }), ['objective.loss=cispo', 'objective.cap=1.5']],
    [
      'entropy.topShare=1',
      ({ settings }) => ({ settings: { ...settings, entropy: { ...settings.entropy, topShare: 1 } } }),
      ['entropy.topShare=0.4'],
    ],
    [
      'kl.estimator=k1',
      ({ settings }) => ({ settings: { ...settings, kl: { ...settings.kl, estimator: 'k1' } } }),
      [KL_SETTING],
    ],
    ['advantages without their sign', ({ advantages }) => ({ advantages: Array.from(advantages, Math.abs) })],
  ])('are named: %s', async (what, change, settings = []) => {
    const run: LabRun = {
      settings: [...OFF_POLICY, ...settings],
      stages: { objective: (input) => standard.objective({ ...input, ...change(input) }) },
    };
    expect(await explanations(run)).toEqual([what]);
  });

  it('are not named where no setting gives them', async () => {
    const advantages = (input: LossInput) => Array.from(input.advantages, (A, i) => A * (1 + i));
    const run: LabRun = {
      settings: OFF_POLICY,
      stages: { objective: (input) => standard.objective({ ...input, advantages: advantages(input) }) },
    };
    expect(await explanations(run)).toEqual([undefined]);
  });

  it('are named where other tokens are learnt from than should be', async () => {
    const run: LabRun = {
      settings: [...OFF_POLICY, 'entropy.topShare=0.4'],
      stages: {
        objective: (input) => standard.objective({ ...input, entropies_T: input.entropies_T.neg() }),
      },
    };
    expect(await explanations(run)).toEqual([
      expect.stringMatching(
        /^entropy.topShare over other tokens than those of highest entropy \(\d+ of \d+\)$/,
      ),
    ]);
  });

  it('are named where a ratio is not detached', async () => {
    const run: LabRun = {
      settings: [...OFF_POLICY, 'objective.loss=cispo', 'objective.cap=100'],
      stages: {
        objective: (input) => {
          const output = standard.objective(input);
          const ratios = input.logprobs_T.sub(input.oldLogprobs_T!).exp();
          // Its gradient through the ratio alone, beside the one that there is.
          const weights = ratios.mul(input.logprobs_T.detach()).mul(tokenAdvantages(input));
          return { ...output, loss: output.loss.sub(weights.mean()) };
        },
      },
    };
    expect(await explanations(run)).toEqual([
      'a ratio that the gradient flows through, where it is to be detached,',
    ]);
  });
});

/** What explains the slopes of the first step that are off. */
async function explanations(run: LabRun): Promise<(string | undefined)[]> {
  const compared = await comparisonsOf({ steps: 1, ...run });
  return compared
    .filter(({ quantity, deviation, bound }) => [LOSS, KL].includes(quantity) && !(deviation <= bound))
    .map(({ explained }) => explained);
}

/** Changes settings of the objective. */
function setting(change: Partial<LossInput['settings']>) {
  return ({ settings }: LossInput) => ({ settings: { ...settings, ...change } });
}

function tokenAdvantages({ advantages, lengths, mask, logprobs_T }: LossInput) {
  const values = Array.from(lengths, (length, i) => Array<number>(length).fill(advantages[i]!)).flat();
  return tensor(
    Float32Array.from(values, (A, t) => A * (mask?.[t] ?? 1)),
    undefined,
    { device: logprobs_T.device },
  );
}
