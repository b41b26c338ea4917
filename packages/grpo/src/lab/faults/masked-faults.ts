/** A masked-diffusion model is sampled, hidden or scored otherwise than declared. */
import type { Decoder } from '../../models/index.js';
import { type MaskPlan, planMasks } from '../../objective/index.js';
import { type Completion, type SamplingOptions, sample } from '../../rollout/index.js';
import { type Stages, stages as standard } from '../../step/stages.js';
import type { LabRun } from '../lab-run.js';
import type { PlantedFault } from './planted-fault.js';

/** Settings under which a run of the lab has all that a masked-diffusion model is judged by. */
const MASKED = [
  'diffusion.blockLength=4',
  'diffusion.steps=6',
  'objective.oldLogprobs=recompute',
  'objective.iterations=2',
  'kl.beta=0.05',
];

const masked = (run: LabRun): LabRun => ({
  ...run,
  policy: { isMasked: true },
  settings: [...MASKED, ...(run.settings ?? [])],
});

/** Plans whose passes are changed. */
const planned =
  (change: (plan: MaskPlan) => MaskPlan): Stages['plan'] =>
  (...input) =>
    planMasks(...input).map(change);

/** Fills completions in another way than is declared. */
const denoised =
  (change: Partial<SamplingOptions['diffusion']>): Stages['sample'] =>
  (model, requests, options, ...rest) =>
    sample(model, requests, { ...options, diffusion: { ...options.diffusion, ...change } }, ...rest);

/** Scores one side with other masks than the rest. */
const otherMasks = (
  side: 'policy' | 'old policy' | 'reference',
  settings: readonly string[] = [],
): LabRun => {
  let policy: Decoder | undefined;
  let isTraining = false;
  return masked({
    settings,
    plant: ({ model }) => {
      policy = model.decoder;
      return undefined;
    },
    stages: {
      plan: (...input) => {
        isTraining = false;
        return planMasks(...input);
      },
      logprob: (decoder, groups, ...rest) => {
        const scores = standard.logprob(decoder, groups, ...rest);
        const isTrained = scores.logprobs_T.requiresGrad;
        isTraining ||= isTrained;
        const own = decoder !== policy ? 'reference' : isTrained ? 'policy' : 'old policy';
        // While it trains, the policy is scored without gradients by probes alone.
        if (own !== side || (own === 'old policy' && isTraining)) return scores;
        const moved = groups.map((group) => ({
          ...group,
          masked: group.masked!.map(({ region, plan }) => ({
            region,
            plan: plan.map((view) => ({
              ...view,
              prompt: elsewhere(view.prompt),
              region: elsewhere(view.region),
            })),
          })),
        }));
        return standard.logprob(decoder, moved, ...rest);
      },
    },
  });
};

/** A completion whose last place was not filled. */
function leavingLast({ ids, region, ...one }: Completion, maskId: number): Completion {
  const last = region!.ids.length - 1;
  return {
    ...one,
    ids: ids.with(-1, ids.length > last ? maskId : ids.at(-1)!),
    region: { ids: region!.ids.with(last, maskId), order: region!.order.with(last, -1) },
  };
}

/** Other hidden places; the first is one, so that every completion has a hidden token. */
const elsewhere = (hidden: Uint8Array): Uint8Array =>
  hidden.map((_, i) => (i === 0 ? 1 : hidden[(i + 1) % hidden.length]!));

export const maskedFaults: readonly PlantedFault[] = [
  {
    code: 'B63',
    variants: [
      {
        name: 'the old policy is scored with other masks (d1)',
        run: () => otherMasks('old policy'),
      },
      {
        name: 'the reference is scored with other masks (coupled)',
        run: () => otherMasks('reference', ['diffusion.estimator=coupled']),
      },
      {
        name: 'the policy is scored with other masks (sum_masked)',
        run: () => otherMasks('policy', ['diffusion.estimator=sum_masked']),
      },
      {
        name: 'log-probs are not divided by the share that is hidden',
        run: () =>
          masked({
            settings: ['diffusion.estimator=coupled'],
            stages: { plan: planned((plan) => plan.map((view) => ({ ...view, weight: 0.5 }))) },
          }),
      },
      {
        name: 'half of the region is seen in d1',
        run: () =>
          masked({
            stages: {
              plan: planned((plan) =>
                plan.map((view) => ({ ...view, region: view.region.map((_, place) => (place + 1) % 2) })),
              ),
            },
          }),
      },
      {
        name: 'the prompt is hidden more often than declared',
        run: () =>
          masked({
            stages: {
              plan: (groups, settings, ...rest) =>
                planMasks(groups, { ...settings, promptMaskRate: 0.6 }, ...rest),
            },
          }),
      },
      {
        name: 'every iteration has the masks of the first',
        run: () =>
          masked({
            stages: {
              plan: (groups, settings, seed, { step }) =>
                planMasks(groups, settings, seed, { step, iteration: 0 }),
            },
          }),
      },
    ],
  },
  {
    code: 'B64',
    variants: [
      {
        name: 'all blocks are filled at once',
        run: () => masked({ stages: { sample: denoised({ blockLength: 12 }) } }),
      },
      {
        name: 'twice as many places per step',
        run: () => masked({ stages: { sample: denoised({ steps: 3 }) } }),
      },
      {
        name: 'places that the steps do not divide by stay masked',
        run: () =>
          masked({
            stages: {
              sample: async (model, requests, ...rest) =>
                (await sample(model, requests, ...rest)).map((group) =>
                  group.map((one) => leavingLast(one, model.decoder.config.diffusion!.maskId)),
                ),
            },
          }),
      },
    ],
  },
];
