/** The loss is not what is declared. */
import { AdamW, type Tensor, tensor, tidy, where } from '@grpo/torch';
import { composedLoss, type LossInput, type LossSettings } from '../../objective/index.js';
import type { LabRun } from '../lab-run.js';
import { maskLoss } from '../mask-loss.js';
import { type LossParts, lossWith, rightParts, tokenAdvantages } from '../plain-loss.js';
import type { PlantedFault } from './planted-fault.js';

/** Small enough for several micro-batches an update. */
const MICRO = 'train.microBatchTokens=60';
/** Several updates from one rollout, and a rate at which ratios leave the clip. */
const REUSE = ['objective.oldLogprobs=sampler', 'objective.iterations=3', 'optimizer.learningRate=0.02'];

/** A region that tokens of the lab leave. */
const DPPO = ['objective.loss=dppo_tv', 'objective.divergenceLow=0.01'];

const BONUS = 'entropy.coefficient=0.05';

const withLoss = (changes: Partial<LossParts>, settings: readonly string[] = []): LabRun => ({
  settings,
  stages: { objective: lossWith(changes) },
});

/** The loss of other settings than are declared. */
const otherLoss = (
  changes: (settings: LossSettings) => Partial<LossSettings>,
  settings: readonly string[],
): LabRun => ({
  settings,
  stages: {
    objective: (input) =>
      composedLoss({ ...input, settings: { ...input.settings, ...changes(input.settings) } }),
  },
});

/** Another correction than is declared. Here sampler and trainer agree: the audit moves them apart. */
const otherCorrection = (changes: Partial<LossSettings['correction']>, declared: readonly string[]): LabRun =>
  otherLoss(
    ({ correction }) => ({ correction: { ...correction, ...changes } }),
    declared.map((setting) => `correction.${setting}`),
  );

const each = (input: LossInput, weight: (length: number) => number) =>
  input.lengths.flatMap((length) => Array<number>(length).fill(weight(length)));

const tokensOf = ({ lengths }: LossInput) => lengths.reduce((a, b) => a + b, 0);

/** A loss whose weights are divided by something of the micro-batch. */
const normalizedBy = (divisor: (input: LossInput) => number): LabRun =>
  withLoss({ weights: (input) => each(input, () => 1 / divisor(input)) }, [MICRO]);

/** Loses the gradients of every second backward pass. */
class Skipping extends AdamW {
  #passes = 0;
  #kept = new Map<string, Float32Array>();

  override accumulate(pass: () => void): void {
    super.accumulate(pass);
    if (this.#passes++ % 2 === 0) {
      this.#kept = new Map([...this.gradients].map(([name, g]) => [name, Float32Array.from(g.toNumbers())]));
    } else {
      for (const [name, g] of this.gradients) tidy(() => g.copy_(tensor(this.#kept.get(name)!, g.shape)));
    }
  }
}

/** Makes no backward pass of every second micro-batch. */
class Leaving extends AdamW {
  #passes = 0;

  override accumulate(pass: () => void): void {
    if (this.#passes++ % 2 === 0) super.accumulate(pass);
  }
}

const withOptimizer = (Optimizer: typeof AdamW): LabRun => ({
  settings: [MICRO],
  plant: ({ model, config }) => ({ optimizer: new Optimizer(model.decoder.parameters, config.optimizer) }),
});

const ratioTimesA = (ratio_T: Tensor, input: LossInput) => ratio_T.mul(tokenAdvantages(input));
const clampedTimesA = (ratio_T: Tensor, input: LossInput) => {
  const { clipLow, clipHigh } = input.settings;
  return ratio_T.clamp(1 - clipLow, 1 + clipHigh).mul(tokenAdvantages(input));
};

/** DPPO that leaves out tokens beyond its bound where `leaves` has it, from their log-ratios and advantages. */
const trustRegion = (leaves: (gap_T: Tensor, advantages_T: Tensor) => Tensor): LabRun => ({
  settings: [...DPPO, ...REUSE],
  stages: {
    objective: lossWith({
      policy(ratio_T, input) {
        const { logprobs_T, oldLogprobs_T, settings } = input;
        const advantages_T = tokenAdvantages(input);
        const gap_T = logprobs_T.sub(oldLogprobs_T!).detach();
        const distance_T = logprobs_T.exp().sub(oldLogprobs_T!.exp()).detach().abs();
        const left_T = distance_T.gt(settings.divergenceLow).logicalAnd(leaves(gap_T, advantages_T));
        const weight_T = where(left_T.logicalNot(), ratio_T.detach(), 0);
        return weight_T.mul(advantages_T).mul(logprobs_T).neg();
      },
    }),
  },
});

export const lossFaults: readonly PlantedFault[] = [
  {
    code: 'B40',
    variants: [
      {
        name: 'old log-probs taken again from the updated policy',
        run: () => withLoss({ ratio: ({ logprobs_T }) => logprobs_T.sub(logprobs_T.detach()).exp() }, REUSE),
      },
      {
        name: 'the same over minibatches',
        run: () =>
          withLoss({ ratio: ({ logprobs_T }) => logprobs_T.sub(logprobs_T.detach()).exp() }, [
            'objective.oldLogprobs=recompute',
            'objective.iterations=2',
            'objective.minibatches=2',
          ]),
      },
      {
        name: 'the ratio of the token where the sequence’s is declared',
        run: () => otherLoss(() => ({ ratio: 'token' }), ['objective.loss=gspo', ...REUSE]),
      },
    ],
  },
  {
    code: 'B41',
    variants: [
      { name: 'the tokens of the micro-batch', run: () => normalizedBy(tokensOf) },
      {
        name: 'divided by the number of micro-batches twice',
        run: () => normalizedBy(({ update }) => 4 * update.tokens),
      },
      {
        name: 'completions weighted equally, tokens declared',
        run: () =>
          withLoss({ weights: (input) => each(input, (length) => 1 / (length * input.update.completions)) }),
      },
      {
        name: 'tokens weighted equally, completions declared',
        run: () => otherLoss(() => ({ aggregation: 'token_mean' }), ['objective.loss=gspo']),
      },
    ],
  },
  {
    code: 'B42',
    variants: [
      {
        name: 'certainty is paid for',
        run: () => ({
          settings: [BONUS],
          stages: {
            objective: (input) => composedLoss({ ...input, entropyCoefficient: -input.entropyCoefficient }),
          },
        }),
      },
      {
        name: 'the same, logged with the right sign',
        run: () => ({
          settings: [BONUS],
          stages: {
            objective(input) {
              const right = composedLoss(input);
              const { loss } = composedLoss({ ...input, entropyCoefficient: -input.entropyCoefficient });
              return { ...right, loss };
            },
          },
        }),
        // Loss and parts differ: which of them is right cannot be told.
        orAs: ['B43'],
      },
    ],
  },
  {
    code: 'B43',
    variants: [
      {
        name: 'scaled by 8 after the terms',
        run: () => withLoss({ total: (...args) => rightParts.total(...args).mul(8) }),
      },
      {
        name: 'the KL shown but left out',
        run: () =>
          withLoss({ total: (policy_T, _, weights_T) => policy_T.mul(weights_T).sum() }, ['kl.beta=0.5']),
      },
      {
        name: 'the KL in the loss besides the reward',
        run: () => ({
          settings: ['kl.beta=0.5', 'kl.place=reward', 'optimizer.learningRate=0.01'],
          steps: 3,
          stages: {
            objective: (input) => composedLoss({ ...input, betas: Array.from(input.betas, () => 0.5) }),
          },
        }),
      },
    ],
  },
  {
    code: 'B44',
    variants: [
      { name: 'every second one', run: () => withOptimizer(Skipping) },
      { name: 'no backward pass of every second one', run: () => withOptimizer(Leaving) },
    ],
  },
  {
    code: 'B45',
    variants: [
      {
        name: 'no position is trained on',
        run: () => withLoss({ weights: (input) => each(input, () => 0) }),
      },
      {
        name: '0 divided by 0 positions',
        run: () => ({ stages: maskLoss((ids) => ids.map(() => 0)) }),
        // Which weighs NaN in place of the declared weight.
        orAs: ['B41'],
      },
      {
        name: 'the ratio detached',
        run: () => withLoss({ ratio: ({ logprobs_T }) => logprobs_T.mul(0).exp() }),
        orAs: ['B53'],
      },
    ],
  },
  {
    code: 'B46',
    variants: [
      {
        name: 'divided by the longest completion',
        run: () => ({
          settings: ['objective.loss=grpo'],
          stages: {
            objective: lossWith({
              weights: (input) =>
                each(input, () => 1 / (input.update.completions * Math.max(...input.lengths))),
            }),
          },
        }),
      },
      {
        name: 'divided by rows × the longest completion, tokens declared',
        run: () =>
          withLoss({
            weights: (input) =>
              each(input, () => 1 / (input.update.completions * Math.max(...input.lengths))),
          }),
      },
    ],
  },
  {
    code: 'B47',
    variants: [
      {
        name: 'the larger of the two in place of the smaller',
        run: () =>
          withLoss(
            {
              policy: (ratio_T, input) =>
                ratioTimesA(ratio_T, input).maximum(clampedTimesA(ratio_T, input)).neg(),
            },
            REUSE,
          ),
      },
      {
        name: 'the advantage’s sign',
        run: () => withLoss({ policy: (ratio_T, input) => ratioTimesA(ratio_T, input) }),
      },
      {
        name: 'clipped from above only',
        run: () =>
          withLoss(
            {
              policy: (ratio_T, input) =>
                ratioTimesA(ratio_T, input)
                  .minimum(ratio_T.clamp(null, 1 + input.settings.clipHigh).mul(tokenAdvantages(input)))
                  .neg(),
            },
            REUSE,
          ),
      },
      {
        name: 'not clipped',
        run: () => withLoss({ policy: (ratio_T, input) => ratioTimesA(ratio_T, input).neg() }, REUSE),
      },
      {
        name: 'sequences clipped by the bound of the other side',
        run: () =>
          otherLoss(
            ({ clipLow, clipHigh }) => ({ clipLow: clipHigh, clipHigh: clipLow }),
            ['objective.loss=gspo', 'objective.clipLow=0.02', 'objective.clipHigh=0.5', ...REUSE],
          ),
      },
      {
        name: 'the ratio of cispo without its cap',
        run: () => otherLoss(() => ({ cap: 1e9 }), ['objective.loss=cispo', 'objective.cap=1.1', ...REUSE]),
      },
      {
        name: 'the trust region of dppo kept where it is left',
        run: () => trustRegion((gap_T, advantages_T) => gap_T.mul(advantages_T).le(0)),
      },
      {
        name: 'the trust region of dppo on both sides',
        run: () => trustRegion((gap_T) => gap_T.isfinite()),
      },
      {
        name: 'no stop-gradient at the ratio of dppo',
        run: () => ({
          settings: ['objective.loss=dppo_tv', ...REUSE],
          stages: {
            objective(input) {
              const right = composedLoss(input);
              const ratio_T = input.logprobs_T.sub(input.oldLogprobs_T!).exp();
              // Of the same value: what was stopped has a slope of its own.
              const weights_T = right.terms.weights_T.mul(right.terms.policy_T);
              return {
                ...right,
                loss: right.loss.add(weights_T.mul(ratio_T.div(ratio_T.detach()).sub(1)).sum()),
              };
            },
          },
        }),
        orAs: ['H12'],
      },
      {
        name: 'the slopes of sapo exchanged',
        run: () =>
          otherLoss(
            ({ slopePositive, slopeNegative }) => ({
              slopePositive: slopeNegative,
              slopeNegative: slopePositive,
            }),
            ['objective.loss=sapo', ...REUSE],
          ),
      },
      {
        name: 'completions left out by the sum where their mean is declared',
        run: () =>
          otherCorrection({ level: 'sequence' }, [
            ...['level=sequence_mean', 'measure=k3', 'action=reject', 'max=0.3'],
          ]),
        orAs: ['H12'],
      },
      {
        name: 'weights where tokens are only to be left out',
        run: () =>
          otherCorrection({ action: 'mask' }, [
            ...['level=token', 'measure=probability', 'action=reject', 'max=0.3'],
          ]),
        orAs: ['H12'],
      },
      {
        name: 'tokens left out whose ratio is within the bounds',
        run: () =>
          otherCorrection({ min: 0.9, max: 1.1 }, ['level=token', 'action=mask', 'min=0.5', 'max=2']),
        orAs: ['H12'],
      },
      {
        name: 'the tokens of low entropy left in',
        run: () =>
          otherLoss(({ entropy }) => ({ entropy: { ...entropy, topShare: 1 } }), ['entropy.topShare=0.2']),
      },
    ],
  },
];
