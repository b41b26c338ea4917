import { auditEvaluation } from '../../evaluation/audit/audit-evaluation.js';
import { headOf } from '../../observe/step-record.js';
import type { Run } from '../open-run.js';
import type { EvaluationAudit } from '../run-steps.js';
import type { Examination } from './examination.js';

/** Holds each evaluation of a run to the plain path, and tells what does not hold. */
export const evaluationAudit =
  (run: Run, examination: Examination): EvaluationAudit =>
  async (result) => {
    const { progress, watch, watcher, evaluatesTrained = false } = run;
    const { step } = progress;
    // The evaluation is written down already: it is not abandoned.
    const finishing = watch.finishing();
    const tell = () => finishing.report({ stage: 'audit', done: 0, total: 1, unit: 'evaluations' });
    tell();
    const audit = await auditEvaluation({ trainer: run, result, step, evaluatesTrained, tell });
    const when = step > 0 ? `evaluation after step ${step}` : 'evaluation before the first step';
    const { news, stop } = examination.audited({ ...headOf(run, Math.max(1, step)), audit }, when);
    for (const text of news) watcher.note?.(text);
    return stop;
  };
