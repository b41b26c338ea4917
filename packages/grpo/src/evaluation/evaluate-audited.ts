import type { Config } from '../config/schema.js';
import { examine } from '../doctor/examine.js';
import type { Finding } from '../doctor/finding.js';
import { audits, checkOf, sentenceOf } from '../doctor/registry.js';
import { headOf } from '../observe/step-record.js';
import type { Watch } from '../progress/watch.js';
import type { Trainer } from '../step/trainer.js';
import type { Task } from '../tasks/task.js';
import { auditEvaluation } from './audit/audit-evaluation.js';
import { type EvalResult, evaluate } from './evaluate.js';

/** The scores of a model, held to a second computation. */
export interface AuditedResult extends EvalResult {
  audit: EvaluationVerdict;
}

/** How the second computation came out. */
export interface EvaluationVerdict {
  /** Numbers and texts that were compared: prompts, greedy tokens, texts, grades, rewards and scores. */
  compared: number;
  /** Disagreements, each of which puts the scores in doubt; empty if everything agrees. */
  findings: (Pick<Finding, 'code' | 'severity'> & { says: string; remedy: string })[];
  /** Reasons, in words, why parts were not computed a second time. */
  missing: string[];
}

/** A model that only samples, with how it does so, and with the memory that an audit lacks. */
export type Sampler = Pick<Trainer, 'model' | 'sampling' | 'auditLack'>;

/** Evaluates a model by itself, and audits the result as that of a run is. */
export async function evaluateAudited(
  sampler: Sampler,
  task: Task,
  config: Config,
  watch: Watch,
): Promise<AuditedResult> {
  const { model, sampling } = sampler;
  const result = await evaluate(model, task, { ...config.eval, sampling }, config.seed, watch);
  const tell = () => watch.report({ stage: 'audit', done: 0, total: 1, unit: 'evaluations' });
  tell();
  const trainer = { ...sampler, task, config };
  // Nothing is trained here: who measures training rows does it on purpose.
  const audit = await auditEvaluation({ trainer, result, step: 0, evaluatesTrained: true, tell });
  const { findings } = examine({ records: [{ ...headOf(trainer, 1), audit }] }, audits);
  return {
    ...result,
    audit: {
      compared: audit.comparisons.reduce((sum, { compared }) => sum + compared, 0),
      findings: findings
        .filter(({ severity }) => severity !== 'inform')
        .map((finding) => {
          const { code, severity } = finding;
          return { code, severity, says: sentenceOf(finding), remedy: checkOf(code).remedy };
        }),
      missing: [...new Set(audit.missing.map(({ what }) => what))],
    },
  };
}
