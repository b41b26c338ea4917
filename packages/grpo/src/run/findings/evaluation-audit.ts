import { auditEvaluation } from '../../evaluation/audit/audit-evaluation.js';
import { headOf } from '../../observe/step-record.js';
import type { Trainer } from '../../step/trainer.js';
import type { Run } from '../open-run.js';
import type { EvaluationAudit } from '../run-steps.js';
import type { Examination } from './examination.js';

/** Holds each evaluation of a run to the plain path, and tells what does not hold. */
export const evaluationAudit =
  (
    { progress, watch, watcher, evaluatesTrained = false }: Run,
    trainer: Trainer,
    examination: Examination,
  ): EvaluationAudit =>
  async (result) => {
    const { step } = progress;
    // The evaluation is written down already: it is not abandoned.
    const finishing = watch.finishing();
    const tell = () => finishing.report({ stage: 'audit', done: 0, total: 1, unit: 'evaluations' });
    tell();
    const audit = await auditEvaluation({ trainer, result, step, evaluatesTrained, tell });
    const { news, stop } = examination.evaluation(step, { ...headOf(trainer, Math.max(1, step)), audit });
    for (const text of news) watcher.note?.(text);
    return stop;
  };
