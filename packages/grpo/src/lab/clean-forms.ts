/** Runs in which nothing is wrong, one at least of each form that the objective can have. */
import {
  BASELINES,
  COMPATS,
  CORRECTION_ACTIONS,
  CORRECTION_MEASURES,
  FLAT_GROUPS,
  KL_ESTIMATORS,
  KL_LEVELS,
  KL_PLACES,
  SCALES,
} from '../config/choices.js';
import { LOSS_NAMES, type LossName, namedLosses } from '../config/loss-names.js';
import type { CleanRun } from './lab-run.js';
import { lettersTask } from './letters-task.js';

/** Enough for a policy that is neither the one that sampled nor the reference. */
const STEPS = 3;

const BETA = 'kl.beta=0.05';
/** Ratios other than 1, and updates of several micro-batches. */
const REUSE = [
  'objective.oldLogprobs=recompute',
  'objective.iterations=2',
  'objective.minibatches=2',
  'train.microBatchTokens=90',
];
const NO_ROOM = 'rollout.maxNewTokens=6';

const K1_IN_LOSS = { 'B48.in-loss': 'k1 is in the loss, where its expected gradient is 0.' };

/** Keys and values of each combination. */
function* combinations(table: Readonly<Record<string, readonly string[]>>): Generator<string[]> {
  const [[key, values] = ['', []], ...rest] = Object.entries(table);
  for (const value of values) {
    const own = `${key}=${value}`;
    if (rest.length === 0) yield [own];
    else for (const others of combinations(Object.fromEntries(rest))) yield [own, ...others];
  }
}

const of = (settings: readonly string[], more: Partial<CleanRun> = {}): CleanRun => ({
  name: settings.join(' '),
  steps: STEPS,
  settings,
  ...more,
});

/** Every named loss: as it is, and with reused rollouts where it compares with an old policy. */
const losses = LOSS_NAMES.flatMap((loss: LossName): CleanRun[] => {
  const own = `objective.loss=${loss}`;
  if (namedLosses[loss].policy === 'reinforce')
    return [of([own, BETA]), of([own, 'objective.minibatches=2', 'train.microBatchTokens=60'])];
  const { policy } = namedLosses[loss];
  const narrow = /^(clip|gmpo)$/.test(policy)
    ? ['objective.clipLow=0.02']
    : /^dppo/.test(policy)
      ? ['objective.divergenceLow=1e-4', 'objective.divergenceHigh=1e-3']
      : [];
  return [of([own, BETA]), of([own, BETA, ...REUSE, ...narrow])];
});

/** Every estimate of the KL, at every level, in each place that it can have. */
const kls = [
  ...combinations({
    'kl.estimator': KL_ESTIMATORS,
    'kl.level': KL_LEVELS,
    'kl.place': KL_PLACES,
  }),
]
  .filter((settings) => !(settings.includes('kl.estimator=full') && settings.includes('kl.place=reward')))
  .map((settings) =>
    of([BETA, ...settings], {
      ...(settings.includes('kl.estimator=k1') &&
        settings.includes('kl.place=loss') && { explained: K1_IN_LOSS }),
    }),
  );

const klChoices = [
  of([BETA, 'kl.biasCorrected=true', ...REUSE]),
  of([BETA, 'kl.biasCorrected=true', 'objective.loss=gspo', 'kl.estimator=k1', ...REUSE]),
  of([BETA, 'kl.biasCorrected=true', 'objective.loss=reinforce_sum', 'objective.ratio=token', ...REUSE]),
  of([BETA, 'kl.clip=0.01', ...REUSE]),
  of([BETA, 'kl.level=sequence_sum', 'kl.clip=0.05', 'objective.loss=dr_grpo', ...REUSE]),
  of([BETA, 'kl.warmupSteps=3', 'kl.warmup=zero', 'objective.loss=grpo'], { steps: 8 }),
  of([BETA, 'kl.warmupSteps=4', 'objective.loss=grpo'], { steps: 8 }),
  of([BETA, 'kl.control=adaptive', 'kl.target=0.01', 'objective.loss=grpo'], { steps: 8 }),
  of([BETA, 'kl.control=adaptive', 'kl.target=0.5', 'kl.least=0.05', 'kl.most=0.05'], { steps: 8 }),
  of([BETA, 'kl.control=lagrangian', 'kl.target=0.02', 'kl.rate=1', 'kl.window=3', ...REUSE], { steps: 6 }),
  of([BETA, 'kl.control=adaptive', 'kl.target=0.02', 'kl.kindKey=kind', ...REUSE], { steps: 6 }),
  of([BETA, 'kl.kindKey=kind', 'kl.control=adaptive', 'kl.target=0.02', 'kl.level=sequence_mean'], {
    steps: 6,
  }),
  of([BETA, 'kl.place=reward', 'kl.control=adaptive', 'kl.target=0.02', 'kl.kindKey=kind'], { steps: 6 }),
  of([BETA, 'kl.referenceEvery=2', 'kl.referenceMix=0.5', ...REUSE], { steps: 6 }),
  of([BETA, 'kl.referenceEvery=1', 'kl.referenceMix=1', 'objective.loss=grpo'], { steps: 6 }),
];

/** Every choice of the advantages. */
const advantages = [
  ...[
    ...combinations({
      'advantage.baseline': BASELINES,
      'advantage.scale': SCALES,
    }),
  ].map((settings) => of(settings)),
  of(['advantage.combine=normalize_then_sum']),
  of(['advantage.combine=normalize_then_sum', 'advantage.baseline=leave_one_out', 'advantage.ddof=0']),
  of(['advantage.ddof=0', 'advantage.epsilon=1e-8', 'advantage.clip=1']),
  of(['advantage.floor=0.2', 'advantage.scale=batch']),
  of(['advantage.whiten=true']),
  of(['advantage.whiten=true', 'advantage.baseline=none', 'advantage.scale=none', 'advantage.clip=1.5']),
  ...FLAT_GROUPS.flatMap((flat) => [
    of([`advantage.flat=${flat}`, 'advantage.flatBelow=0.12', BETA, ...REUSE], { steps: 5 }),
    of([
      `advantage.flat=${flat}`,
      'advantage.flatBelow=0.12',
      'advantage.whiten=true',
      'objective.loss=grpo',
    ]),
  ]),
  of(['advantage.flat=drop', 'rollout.group=2', BETA, 'objective.oldLogprobs=sampler'], {
    task: lettersTask({ rewards: { right: (completion, { answer }) => Number(completion === answer) } }),
    explained: { 'B45.zero-log': 'Where no completion is right there is nothing to learn from.' },
  }),
];

const bonus = 'entropy.coefficient=0.02';

const entropies = [
  of([bonus]),
  of([bonus, BETA, ...REUSE, 'objective.loss=gspo']),
  of(['entropy.adaptive=true', 'entropy.target=0.8', 'entropy.delta=0.01', ...REUSE], { steps: 6 }),
  of(['entropy.topShare=0.2']),
  of(['entropy.topShare=0.2', bonus, BETA, ...REUSE]),
  ...(['gmpo', 'cispo', 'vespo', 'grpo'] as const).map((loss) =>
    of(['entropy.topShare=0.5', `objective.loss=${loss}`, ...REUSE]),
  ),
];

const masks = [
  of(['objective.maskTruncated=true', NO_ROOM, BETA]),
  of([
    'objective.maskTruncated=true',
    NO_ROOM,
    BETA,
    'kl.level=sequence_mean',
    'objective.loss=grpo',
    ...REUSE,
  ]),
  of([
    'objective.maskTruncated=true',
    NO_ROOM,
    bonus,
    'entropy.topShare=0.5',
    'objective.loss=bnpo',
    ...REUSE,
  ]),
  of(['objective.maskTruncated=true', NO_ROOM, 'objective.loss=gmpo', ...REUSE]),
  of(['objective.maskTruncated=true', NO_ROOM, 'objective.loss=luspo', ...REUSE]),
  of(['objective.offPolicyThreshold=0.01', ...REUSE]),
  of(['objective.offPolicyThreshold=0.01', 'objective.loss=gspo_token', BETA, ...REUSE]),
  of(['objective.delta=1.05', 'objective.clipLow=0.02', 'objective.clipHigh=0.04', ...REUSE]),
  of([
    'objective.delta=3',
    'objective.policy=clip',
    'objective.ratio=sequence',
    'objective.aggregation=constant',
  ]),
  ...[
    ...combinations({
      'correction.level': ['token', 'sequence', 'sequence_mean'],
      'correction.action': CORRECTION_ACTIONS,
    }),
  ].map((settings) => of([...settings, 'correction.min=0.9', 'correction.max=1.1', ...REUSE])),
  ...[
    ...combinations({
      'correction.measure': CORRECTION_MEASURES.filter((measure) => measure !== 'ratio'),
      'correction.level': ['token', 'sequence_mean', 'sequence_max'],
    }),
  ].map((settings) => of([...settings, 'correction.action=mask', 'correction.max=1e-3', ...REUSE])),
  of(['correction.level=sequence', 'correction.max=2', 'objective.loss=vespo', ...REUSE]),
];

const others = [
  ...COMPATS.flatMap((compat) => [
    of([`objective.compat=${compat}`, bonus, BETA, ...REUSE]),
    of([`objective.compat=${compat}`, 'objective.loss=luspo', BETA, ...REUSE]),
    of([`objective.compat=${compat}`, 'advantage.combine=normalize_then_sum', 'objective.loss=grpo']),
  ]),
  of(['groups.refills=2', 'rollout.group=2', 'rollout.temperature=0.6'], { steps: 5 }),
  of(['groups.replay=8', 'rollout.group=2', 'rollout.temperature=0.6', BETA, ...REUSE], { steps: 6 }),
  of(['groups.replay=8', 'rollout.group=2', 'rollout.temperature=0.6', 'objective.oldLogprobs=sampler'], {
    steps: 6,
  }),
  of(['groups.overlongBuffer=3', NO_ROOM]),
];

/** The forms whose numbers half precision rounds most. */
const halves = [
  ['objective.loss=gspo', BETA, ...REUSE],
  ['objective.loss=vespo', ...REUSE],
  ['objective.loss=gmpo', ...REUSE],
  ['objective.loss=sapo', bonus, 'entropy.topShare=0.5', ...REUSE],
  ['objective.loss=cispo', BETA, 'kl.level=sequence_sum', ...REUSE],
  [BETA, 'kl.place=reward', 'kl.estimator=k1', 'objective.loss=reinforce_sum'],
  [BETA, 'kl.estimator=full', ...REUSE],
  [BETA, 'kl.estimator=abs', ...REUSE],
  ['correction.level=sequence', 'correction.action=mask', 'correction.max=1.02', ...REUSE],
  ['objective.offPolicyThreshold=0.01', ...REUSE],
].map((settings) => ({
  ...of(settings, { policy: { dtype: 'bfloat16' } }),
  name: `${settings.join(' ')} in bfloat16`,
}));

export const cleanForms: readonly CleanRun[] = [
  ...losses,
  ...kls,
  ...klChoices,
  ...advantages,
  ...entropies,
  ...masks,
  ...others,
  ...halves,
];
