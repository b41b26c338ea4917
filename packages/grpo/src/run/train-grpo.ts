import { existsSync } from 'node:fs';
import { Audit } from '../audit/audit.js';
import { auditRecordOf } from '../audit/audit-record.js';
import { rewardDrift } from '../audit/rewards/drift.js';
import { compareRow } from '../audit/row.js';
import { isAudited } from '../config/sections/progress.js';
import { UserError } from '../errors/user-error.js';
import { probeCanaries } from '../observe/canaries.js';
import { completionRows } from '../observe/completion-rows.js';
import { FlatGroupsWatch, RefillWatch } from '../observe/flat-groups.js';
import { type MetricsRow, metricsOf } from '../observe/metrics.js';
import { MicroLog } from '../observe/micro-log.js';
import { headOf, stepRecordOf } from '../observe/step-record.js';
import { StepRecorder } from '../observe/step-recorder.js';
import { Stopwatch } from '../observe/stopwatch.js';
import { WrongWeightsError } from '../remote/index.js';
import { describeFailures, takeJudgeReports, UserCodeGuard } from '../rewards/index.js';
import type { Batch } from '../step/batch.js';
import { grpoStep, UpdateError } from '../step/grpo-step.js';
import type { Stages } from '../step/stages.js';
import { Supply } from '../tasks/order/supply.js';
import { readStepRecord, type StepRecord, writeStepRecord } from '../trace/index.js';
import { auditFolder } from './audit-folder.js';
import { carriedCompletions } from './carried-completions.js';
import { evaluationAudit } from './findings/evaluation-audit.js';
import { Examination, type StepVerdict, withAudit } from './findings/examination.js';
import { modelAudit } from './findings/model-audit.js';
import { preflightIn } from './folder/run-folder.js';
import { GrpoTrainer } from './grpo-trainer.js';
import { initialModel } from './model-source.js';
import type { Run } from './open-run.js';
import { type Preflight, preflight, warningLine } from './preflight.js';
import { callToStep, lead } from './ranks/lead.js';
import { type RunEnd, runSteps, type StepReport, type StepTurn, unlessAbandoned } from './run-steps.js';
import { learningRateAt } from './schedule.js';

/**
 * Trains a run's model with GRPO for `train.steps` steps, after a preflight where it is new.
 *
 * @param own - your own stages in place of the standard ones
 * @throws UserError when one of them is the loss, and `objective.module` is another
 */
export async function trainGrpo(run: Run, own: Partial<Stages> = {}): Promise<RunEnd> {
  return await lead(
    run,
    () => GrpoTrainer.open(run, own),
    (trainer) => trainWith(run, trainer),
  );
}

async function trainWith(run: Run, trainer: GrpoTrainer): Promise<RunEnd> {
  const { config, progress, folder, watcher } = run;
  // From the preflight on a reward may do something long after it has answered.
  using guard = new UserCodeGuard();
  const isExamined = config.doctor.onFinding !== 'off';
  const examination = await Examination.after(progress.step, config, folder);
  const measures = [auditFolder(run), modelAudit(run)];
  const tried = isExamined && progress.step === 0 ? await tryFirst(run, trainer, guard) : undefined;
  const { news = [], stop: stopped } = tried ? examination.tried(tried.record) : {};
  for (const text of [...news, ...(tried?.warnings ?? []).map(warningLine)]) watcher.note?.(text);
  if (stopped) {
    discard(run);
    writeStepRecord(preflightIn(run.config.output), tried!.record);
    return { interrupted: false, stopped, before: undefined, after: undefined };
  }
  const flatGroups = new FlatGroupsWatch();
  const refills = new RefillWatch(config.groups.refills);
  const takeStep = async (step: number, turn: StepTurn): Promise<StepReport> => {
    await callToStep(run);
    const problems = trainer.nextProblems();
    const rate = learningRateAt(config.optimizer, step, config.train.steps);
    const clock = new Stopwatch();
    const probe = () =>
      step === 0 && tried ? tried.canaries : clock.stage('canaries', () => probeCanaries(trainer, step));
    const canaries = examination.wants(step + 1) ? await probe() : undefined;
    for (const text of canaries?.news ?? []) watcher.note?.(text);
    using recorder = new StepRecorder(trainer, {
      measureWeights: isExamined,
      probeScoring: examination.probes(step + 1),
    });
    const isWhole = examination.audits(step + 1, turn);
    const audit = isAudited(config) ? new Audit(trainer, { isWhole, more: measures }) : undefined;
    const drift =
      step > 0 && examination.isAuditDue(step + 1) ? await driftSinceFirst(run, trainer) : undefined;
    const recordOf = () =>
      stepRecordOf(trainer, recorder.recorded, step + 1, { canaries, audit: audit?.record, drift });
    const print = (line: string) => watcher.note?.(line);
    const micro = config.train.log === 'micro' ? [new MicroLog(print, audit !== undefined && isWhole)] : [];
    const observers = [recorder, ...(audit?.observers ?? []), ...micro];
    await grpoStep({ ...trainer, observers }, problems, step, rate).catch((error: unknown) => {
      if (!examination.wants(step + 1)) throw error;
      if (error instanceof UpdateError) throw diagnosed(error, examination.step(recordOf()));
      // The error says what the doctor finds.
      if (error instanceof WrongWeightsError) examination.step(headOf(trainer, step + 1));
      throw error;
    });
    const { recorded } = recorder;
    const { batch } = recorded;
    const { advantages } = batch.advantages;
    const stepTokens = batch.sampledTokens;
    progress.tokens += stepTokens;
    progress.checksums = recorded.checksums;
    Object.assign(trainer, { checksums: recorded.checksums, restored: undefined });
    run.trainerState.carried = () => carriedCompletions(trainer, batch);
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
    for (const text of [refills.after(metrics), flatGroups.after(metrics)])
      if (text !== undefined) watcher.note?.(text);
    const { verdict, failed } = examination.wants(step + 1)
      ? attempted(() => examination.step(audit ? withRow(recordOf(), metrics, batch) : recordOf(), metrics))
      : {};
    for (const text of verdict?.news ?? []) watcher.note?.(text);
    return {
      metrics,
      seconds: { ...(canaries && clock.seconds), ...recorded.seconds, ...audit?.seconds },
      rewardSeconds: batch.rewardTable.seconds,
      stop: verdict?.stop,
      failed,
    };
  };
  const audit = isExamined && isAudited(config) ? evaluationAudit(run, examination) : undefined;
  return await runSteps(run, config.train.steps, takeStep, audit);
}

/** Grades completions of the first step again; nothing where its record is gone. */
async function driftSinceFirst({ folder, config, task }: Run, trainer: GrpoTrainer) {
  const first = folder.stepFolder(1);
  if (!existsSync(first)) return undefined;
  const supply = new Supply(task.train, config.seed, {}, task.shares);
  return await rewardDrift(trainer, readStepRecord(first), supply.first(config.rollout.prompts));
}

/** The record of an audited step, with what its metrics are compared with. */
function withRow(record: StepRecord, metrics: MetricsRow, { exchange }: Batch): StepRecord {
  const comparisons = compareRow(metrics, record, exchange?.own);
  return withAudit(record, { audit: auditRecordOf([{ comparisons }]) });
}

/** An error in the examination must not cost the step: its weights have changed already. */
function attempted(examine: () => StepVerdict): { verdict?: StepVerdict; failed?: { error: unknown } } {
  try {
    return { verdict: examine() };
  } catch (error) {
    return { failed: { error } };
  }
}

/**
 * The preflight of a new run; nothing where it was abandoned.
 *
 * @throws what a step throws, and what a reward threw while nobody waited: no run is left behind
 */
async function tryFirst(
  run: Run,
  trainer: GrpoTrainer,
  guard: UserCodeGuard,
): Promise<Preflight | undefined> {
  try {
    const tried = await unlessAbandoned(run, 'The preflight', () =>
      preflight(trainer, 'small', [modelAudit(run)]),
    );
    await guard.check();
    return tried;
  } catch (error) {
    discard(run);
    throw error;
  } finally {
    // Of these requests no step tells.
    for (const text of takeJudgeReports(run.task.rewards).alarms) run.watcher.note?.(text);
  }
}

const discard = ({ folder, config }: Run) =>
  folder.discard(config.model === undefined ? [initialModel(config)] : []);

/** The error with what the doctor says of the step, which leads with the cause. */
function diagnosed(error: UpdateError, { news: [cause] }: StepVerdict): UserError {
  return cause === undefined
    ? error
    : new UserError(error.message, { hint: `The doctor, of ${cause}`, cause: error });
}
