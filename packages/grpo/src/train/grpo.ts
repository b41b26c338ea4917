import { UserError } from '../config/errors.js';
import type { Decoder } from '../models/index.js';
import { describeFailures } from '../rewards/index.js';
import { completionRows } from './completion-rows.js';
import { firstControl } from './control.js';
import { DataOrder } from './data-order.js';
import { Examination, type StepVerdict } from './examination.js';
import { metricsOf } from './metrics.js';
import { openModel } from './model-source.js';
import { tokensOf } from './roll-out.js';
import { learningRateAt } from './schedule.js';
import { type RunEnd, runSteps, type Session } from './session.js';
import { SignalWatch } from './signal.js';
import { type Stages, stages as standardStages } from './stages.js';
import { grpoStep, NotFiniteError } from './step.js';
import { stepRecordOf } from './step-record.js';
import type { Trainer } from './trainer.js';

/**
 * Trains a session's model with GRPO for `train.steps` steps.
 *
 * @param stages - your own stages in place of the standard ones
 */
export async function trainGrpo(session: Session, stages: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = session;
  const order = new DataOrder(task.train.length, config.seed);
  const reference = config.kl.beta > 0 ? openReference(session) : undefined;
  const measureWeights = config.doctor.onFinding !== 'off';
  const trainer: Trainer = {
    ...session,
    reference,
    stages: { ...standardStages, ...stages },
    control: firstControl(config),
    ownStages: Object.keys(stages),
    measureWeights,
  };
  const examination = await Examination.after(progress.step, config, folder);
  const signal = new SignalWatch();
  try {
    return await runSteps(session, config.train.steps, async (step) => {
      const problems = order.at(step, config.rollout.prompts).map((i) => task.train[i]!);
      const rate = learningRateAt(config.optimizer, step, config.train.steps);
      const probeScoring = examination.isDue(step + 1);
      const result = await grpoStep({ ...trainer, probeScoring }, problems, step, rate).catch(
        (error: unknown) => {
          throw error instanceof NotFiniteError && examination.wants(step + 1)
            ? diagnosed(error, examination.step(stepRecordOf(trainer, error.result, step + 1)))
            : error;
        },
      );
      const { advantages } = result.rollout.advantages;
      const stepTokens = tokensOf(result.rollout);
      progress.tokens += stepTokens;
      folder.completions(completionRows(result.rollout, step + 1, (b) => ({ advantage: advantages[b] })));
      const { failures } = result.rollout.rewardTable;
      if (failures.length > 0) watcher.note?.(`step ${step + 1}: ${describeFailures(failures)}`);
      const metrics = metricsOf(result, step + 1, { tokens: progress.tokens, stepTokens });
      const nothing = signal.after(metrics);
      if (nothing !== undefined) watcher.note?.(nothing);
      const verdict = examination.wants(step + 1)
        ? examination.step(stepRecordOf(trainer, result, step + 1))
        : undefined;
      for (const text of verdict?.news ?? []) watcher.note?.(text);
      return { metrics, seconds: result.seconds, stop: verdict?.stop };
    });
  } finally {
    reference?.dispose();
  }
}

/** The error with what the doctor says of the step, which leads with the cause. */
function diagnosed(error: NotFiniteError, { news: [cause] }: StepVerdict): UserError {
  return cause === undefined
    ? error
    : new UserError(error.message, { hint: `The doctor, of ${cause}`, cause: error });
}

/** The frozen policy that the KL is measured to: the model as it was before the first step. */
function openReference({ config, model, progress }: Session): Decoder {
  return progress.step === 0 ? model.decoder.clone() : openModel(config).decoder;
}
