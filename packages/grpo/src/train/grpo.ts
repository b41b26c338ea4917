import { UserError } from '../errors/user-error.js';
import { type Decoder, loadAdapter } from '../models/index.js';
import { probeCanaries } from '../observe/canaries.js';
import { metricsOf } from '../observe/metrics.js';
import { stepRecordOf } from '../observe/step-record.js';
import { StepRecorder } from '../observe/step-recorder.js';
import { Stopwatch } from '../observe/stopwatch.js';
import { describeFailures } from '../rewards/index.js';
import { grpoStep, NotFiniteError } from '../step/grpo-step.js';
import { kindsOf } from '../step/kinds.js';
import { MovingReference } from '../step/moving-reference.js';
import { ReplayStore } from '../step/replay-store.js';
import { type Stages, stages as standardStages } from '../step/stages.js';
import type { Trainer } from '../step/trainer.js';
import { latestCheckpoint, replayPath, restoreReference } from './checkpoint.js';
import { completionRows } from './completion-rows.js';
import { Examination, type StepVerdict } from './examination.js';
import { openModel } from './model-source.js';
import { readStore } from './replay-file.js';
import { type RunEnd, runSteps } from './run-steps.js';
import { learningRateAt } from './schedule.js';
import type { Session } from './session.js';
import { RefillWatch, SignalWatch } from './signal.js';
import { Supply } from './supply.js';

/**
 * Trains a session's model with GRPO for `train.steps` steps.
 *
 * @param own - your own stages in place of the standard ones
 * @throws UserError when one of them is the loss, and `objective.module` is another
 */
export async function trainGrpo(session: Session, own: Partial<Stages> = {}): Promise<RunEnd> {
  const { config, task, progress, folder, watcher } = session;
  const stages = withLoss(session, own);
  // A run of an earlier version took the same number at each step.
  progress.problems ??= progress.step * config.rollout.prompts;
  const supply = new Supply(task.train, config.seed, progress, task.shares);
  if (config.groups.replay > 0) session.replay = await openReplay(session);
  kindsOf(task.train, config.kl.kindKey); // a row without a kind is told of now, not when its turn comes
  const { control } = session;
  progress.control = control.state;
  const [reference, owned] = config.kl.beta > 0 ? openReference(session) : [];
  const movingReference =
    reference && config.kl.referenceEvery > 0 ? openMovingReference(session, reference) : undefined;
  const measureWeights = config.doctor.onFinding !== 'off';
  const trainer: Trainer = {
    ...session,
    reference,
    movingReference,
    supply,
    stages: { ...standardStages, ...stages },
    ownStages: Object.keys(stages),
  };
  const examination = await Examination.after(progress.step, config, folder);
  const signal = new SignalWatch();
  const refills = new RefillWatch(config.groups.refills);
  try {
    return await runSteps(session, config.train.steps, async (step) => {
      const problems = supply.take(config.rollout.prompts);
      const rate = learningRateAt(config.optimizer, step, config.train.steps);
      const clock = new Stopwatch();
      const canaries = examination.wants(step + 1)
        ? await clock.stage('canaries', () => probeCanaries(trainer, step))
        : undefined;
      for (const text of canaries?.news ?? []) watcher.note?.(text);
      using recorder = new StepRecorder(trainer, {
        measureWeights,
        probeScoring: examination.probes(step + 1),
      });
      const recordOf = () => stepRecordOf(trainer, recorder.recorded, step + 1, canaries);
      await grpoStep({ ...trainer, observers: [recorder] }, problems, step, rate).catch((error: unknown) => {
        throw error instanceof NotFiniteError && examination.wants(step + 1)
          ? diagnosed(error, examination.step(recordOf()))
          : error;
      });
      const { recorded } = recorder;
      const { batch } = recorded;
      const { advantages } = batch.advantages;
      const stepTokens = batch.sampledTokens;
      progress.tokens += stepTokens;
      const learnt = (b: number) => {
        const stored = batch.exchange?.replayed.get(batch.problemOf(b));
        return { advantage: advantages[b], ...(stored && { replayed_from: stored.step + 1 }) };
      };
      folder.completions(completionRows(batch, step + 1, learnt));
      const { failures } = batch.rewardTable;
      if (failures.length > 0) watcher.note?.(`step ${step + 1}: ${describeFailures(failures)}`);
      const metrics = metricsOf(recorded, step + 1, {
        tokens: progress.tokens,
        stepTokens,
        kindKey: config.kl.kindKey,
      });
      for (const text of [refills.after(metrics), signal.after(metrics)])
        if (text !== undefined) watcher.note?.(text);
      const verdict = examination.wants(step + 1) ? examination.step(recordOf()) : undefined;
      for (const text of verdict?.news ?? []) watcher.note?.(text);
      return {
        metrics,
        seconds: { ...(canaries && clock.seconds), ...recorded.seconds },
        stop: verdict?.stop,
      };
    });
  } finally {
    movingReference?.[Symbol.dispose]();
    owned?.dispose();
  }
}

/** The stages in place of ours, with the loss of `objective.module`. */
function withLoss({ loss, config }: Session, own: Partial<Stages>): Partial<Stages> {
  if (!loss) return own;
  if (!own.objective) return { ...own, objective: loss };
  throw new UserError(
    `objective.module (${config.objective.module}) and stages.objective are both the loss`,
    {
      hint: 'Take one of them out.',
    },
  );
}

/** The error with what the doctor says of the step, which leads with the cause. */
function diagnosed(error: NotFiniteError, { news: [cause] }: StepVerdict): UserError {
  return cause === undefined
    ? error
    : new UserError(error.message, { hint: `The doctor, of ${cause}`, cause: error });
}

/**
 * The frozen policy that the KL is measured to: the model as it was before the first step. With adapters it shares the
 * weights, and has at most adapters of its own.
 *
 * @returns it, and what of it is to be disposed
 */
function openReference({
  config,
  model,
  progress,
  watch,
}: Session): [Decoder, { dispose(): void } | undefined] {
  const { lora } = model.decoder;
  const { adapter } = config.lora;
  if (lora) {
    if (config.kl.referenceEvery > 0) {
      // On resuming, what has moved is restored from the checkpoint.
      const moving = lora.clone();
      return [model.decoder.withLora(moving), moving];
    }
    const { base } = lora.settings;
    const first = adapter === undefined ? undefined : loadAdapter(adapter, model.decoder, base);
    return [model.decoder.withLora(first), first];
  }
  const whole =
    progress.step === 0 ? model.decoder.clone() : openModel(config, { watch: watch.finishing() }).decoder;
  return [whole, whole];
}

/** The same where it moves: on resuming, as the checkpoint has it. */
function openMovingReference(session: Session, reference: Decoder): MovingReference {
  const moving = new MovingReference(reference, session);
  const checkpoint = latestCheckpoint(session.folder.checkpoints);
  if (checkpoint) moving.restore((masters) => restoreReference(checkpoint.dir, masters));
  session.reference = moving.masters;
  return moving;
}

/** The groups that may be replayed: on resuming, those of the checkpoint. */
async function openReplay({ config, task, folder }: Session): Promise<ReplayStore> {
  const checkpoint = latestCheckpoint(folder.checkpoints);
  const stored = checkpoint ? await readStore(replayPath(checkpoint.dir), task.train) : [];
  return new ReplayStore(config.groups.replay, stored);
}
