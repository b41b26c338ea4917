import { auditRecordOf } from '../../audit/audit-record.js';
import type { Measured } from '../../audit/context.js';
import { UpdateAudit } from '../../audit/update.js';
import type { Config } from '../../config/schema.js';
import { isAudited } from '../../config/sections/progress.js';
import type { Finding } from '../../doctor/finding.js';
import { auditLesson } from '../../imitation/audit/audit-lesson.js';
import type { Example } from '../../imitation/examples.js';
import type { SftStepOptions } from '../../imitation/sft.js';
import { headOf } from '../../observe/step-record.js';
import { Stopwatch } from '../../observe/stopwatch.js';
import type { Run } from '../open-run.js';
import type { EvaluationAudit, StepTurn } from '../run-steps.js';
import { evaluationAudit } from './evaluation-audit.js';
import { Examination } from './examination.js';

/** What a step that imitates begins with. */
interface Lesson {
  /** Of its first update. */
  examples: readonly Example[];
  /** Draws what is hidden from a masked-diffusion model. */
  seed: number;
  /** What is known of the examples without the plain path of the model. */
  measured: readonly Measured[];
}

/** Holds the steps and the evaluations of a run that imitates to the plain path. */
export class ImitationAudit {
  /** Undefined where a run is not audited. */
  readonly evaluation: EvaluationAudit | undefined;

  private constructor(
    private readonly run: Run,
    private readonly examination: Examination,
    private readonly steps: number,
  ) {
    this.evaluation = isAudited(run.config) ? evaluationAudit(run, examination) : undefined;
  }

  /** @param steps - of the run */
  static async open(run: Run, steps: number): Promise<ImitationAudit> {
    return new ImitationAudit(run, await Examination.after(run.progress.step, run.config, run.folder), steps);
  }

  /**
   * Takes a step, counted from 0, and holds it to the plain path where it is one of those that are audited.
   *
   * @param lessonOf - asked where it is
   * @param take - takes the step; the observer, where there is one, is to watch its updates
   * @returns what is so wrong that the run must end, and the seconds of what is computed again
   */
  async watch<T>(
    step: number,
    turn: StepTurn,
    lessonOf: (tell: () => void) => Lesson | Promise<Lesson>,
    take: (observer: SftStepOptions['observer']) => Promise<T>,
  ): Promise<{ result: T; stop?: Finding | undefined; seconds: Readonly<Record<string, number>> }> {
    const { run, examination } = this;
    const clock = new Stopwatch();
    if (!examination.audits(step + 1, turn)) return { result: await take(undefined), seconds: clock.seconds };
    const { model, optimizer, config, auditLack, watcher } = run;
    const watch = run.watch.named('audit');
    const context = { model, optimizer, config, auditLack, step, watch };
    const before = await clock.stage('audit', async () => {
      const { measured, ...lesson } = await lessonOf(() =>
        watch.report({ stage: 'audit', done: 0, total: 1, unit: 'steps' }),
      );
      const isTaught = lesson.examples.length > 0;
      return [...measured, ...(isTaught ? await auditLesson({ ...context, ...lesson }) : [])];
    });
    const control = { updates: updatesOf(optimizer) };
    const updates = new UpdateAudit({ model, optimizer, config: asDeclared(config, this.steps), control });
    updates.compared(undefined, step);
    const result = await take({
      beforeUpdate: () => updates.beforeUpdate(),
      updated: (update) => {
        updates.updated(update);
        control.updates++;
      },
    });
    updates.done();
    const audit = auditRecordOf([...before, ...updates.measured]);
    const { news, stop } = examination.audited({ ...headOf(run, step + 1), audit }, `step ${step + 1}`);
    for (const text of news) watcher.note?.(text);
    return { result, stop, seconds: clock.seconds };
  }
}

/** Updates of the run so far, by the optimizer: how many a round takes depends on what it kept. */
function updatesOf(optimizer: Run['optimizer']): number {
  const counts = [...optimizer.state()].filter(([key]) => key.endsWith('.step'));
  return counts[0]![1].item();
}

/** The settings of the updates where the plain path looks for them. */
const asDeclared = (config: Config, steps: number): Config => ({
  ...config,
  optimizer: { ...config.optimizer, learningRate: config.sft.learningRate },
  train: { ...config.train, steps },
});
