import { Audit } from '../audit/audit.js';
import type { Measure } from '../audit/context.js';
import type { Config } from '../config/schema.js';
import type { InspectionCheck } from '../inspection/check.js';
import { inspectPrompts } from '../inspection/inspect-prompts.js';
import { promptsOf, runChecks } from '../inspection/run-checks.js';
import { type CanaryProbe, probeCanaries } from '../observe/canaries.js';
import { type MetricsRow, metricsOf } from '../observe/metrics.js';
import { stepRecordOf } from '../observe/step-record.js';
import { StepRecorder } from '../observe/step-recorder.js';
import { Control } from '../step/control.js';
import { grpoStep, NotFiniteError } from '../step/grpo-step.js';
import type { Stages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { Supply } from '../tasks/order/supply.js';
import type { Problem } from '../tasks/task.js';
import type { StepRecord } from '../trace/index.js';
import { learningRateAt } from './schedule.js';

/** Groups of the part that is tried: prompts that are mixed up show from two on. */
const PROMPTS = 2;

/** Tokens of a completion of that part: some hundred draws in all, in seconds. */
const TOKENS = 32;

/** What the first step of a run shows before the run begins. */
export interface Preflight {
  record: StepRecord;
  metrics: MetricsRow;
  seconds: number;
  /** Those of step 1, which need not be graded again. */
  canaries: CanaryProbe | undefined;
  /** What the inspection of model and rows warns of. */
  warnings: InspectionCheck[];
}

/**
 * Tries the first step of a run, with everything that can be measured of one: canaries, the second scoring, the audit.
 *
 * @param part - `small`: two groups of short completions, up to the gradient; the trainer is afterwards what it was
 * before, and its steps are those of a run without it. `whole`: the step itself, which spends the run.
 * @param more - what is compared besides, by who knows more than the trainer
 * @throws what a step throws, but for a gradient that is not finite: its record says why
 */
export async function preflight(
  given: Trainer,
  part: 'small' | 'whole',
  more: readonly Measure[] = [],
): Promise<Preflight> {
  const trainer = part === 'small' ? smallPart(given) : given;
  const { config, task } = trainer;
  const supply = new Supply(task.train, config.seed, {}, task.shares);
  const problems = supply.take(config.rollout.prompts);
  const start = performance.now();
  const canaries = await probeCanaries(trainer, 0);
  using recorder = new StepRecorder(trainer, { measureWeights: part === 'whole', probeScoring: true });
  const audit = config.doctor.every > 0 ? new Audit(trainer, { more }) : undefined;
  const observers = [recorder, ...(audit?.observers ?? [])];
  const rate = learningRateAt(config.optimizer, 0, config.train.steps);
  const step = grpoStep({ ...trainer, supply, observers }, problems, 0, rate);
  await step.catch((error: unknown) => {
    if (!(error instanceof NotFiniteError)) throw error;
  });
  const { recorded } = recorder;
  const tokens = recorded.batch.sampledTokens;
  return {
    record: stepRecordOf(trainer, recorded, 1, { canaries, audit: audit?.record }),
    metrics: metricsOf(recorded, 1, { tokens, stepTokens: tokens, kindKey: config.kl.kindKey }),
    seconds: (performance.now() - start) / 1000,
    canaries,
    warnings: inspectRun(given),
  };
}

/** Renders the first rows on every path, and holds rows and settings to the model; what is only worth a note is left out. */
function inspectRun({ model, task, config, stages, ownStages }: Trainer): InspectionCheck[] {
  const render = ownStages?.includes('render')
    ? (problem: Problem) => stages.render(model, [problem])[0]!
    : undefined;
  const checks = [
    ...inspectPrompts(model, promptsOf(task), render).checks,
    ...runChecks(model, model.decoder.config.maxPositions, { task, config }),
  ];
  return checks.filter(({ verdict }) => verdict === 'warn' || verdict === 'fail');
}

/** A warning in a line. */
export const warningLine = ({ says, remedy }: InspectionCheck): string =>
  `preflight: ${says}${remedy === undefined ? '' : ` ${remedy}`}`;

/** The same trainer for a step that costs little, changes no weight, and leaves nothing to later steps. */
function smallPart(trainer: Trainer): Trainer {
  const { rollout, groups, kl, objective } = trainer.config;
  const maxNewTokens = Math.max(rollout.minNewTokens, Math.min(TOKENS, rollout.maxNewTokens));
  const config: Config = {
    ...trainer.config,
    rollout: { ...rollout, prompts: Math.min(PROMPTS, rollout.prompts), maxNewTokens },
    groups: { ...groups, refills: 0, replay: 0, overlongBuffer: 0 },
    kl: { ...kl, referenceEvery: 0 },
    objective: { ...objective, iterations: 1, minibatches: 1 },
  };
  return {
    ...trainer,
    config,
    control: new Control(config),
    movingReference: undefined,
    replay: undefined,
    peers: undefined,
    sampling: { ...trainer.sampling, maxNewTokens },
    stages: { ...trainer.stages, update: measureGradients },
    ownStages: [...(trainer.ownStages ?? []), 'update'],
    watch: trainer.watch?.named('preflight'),
  };
}

/** In place of an update: the weights and what the optimizer keeps stay as they are. */
export const measureGradients: Stages['update'] = (optimizer) => {
  const norms = optimizer.norms();
  optimizer.zeroGrad();
  return norms;
};
