import type { Trainer } from '../../step/trainer.js';
import type { EvalResult } from '../evaluate.js';

/** What the audit of an evaluation holds to the plain path. */
export interface EvalAuditContext {
  trainer: Pick<Trainer, 'model' | 'task' | 'config' | 'sampling' | 'servers' | 'auditLack'>;
  result: EvalResult;
  /** Steps that were done before the evaluation. */
  step: number;
  /** Whether its problems are some that are trained on, by intent. */
  evaluatesTrained: boolean;
  /** To be called between the parts of what takes over a second: says that it goes on. */
  tell(): void;
}

/** The problems that the settings have evaluated. */
export const heldOut = ({ trainer: { task, config } }: EvalAuditContext) =>
  task.eval.slice(0, config.eval.limit);

/** The greedy completions, one of each problem. */
export const greedyOf = ({ result }: EvalAuditContext) =>
  result.completions.filter(({ decoding }) => decoding === 'greedy');
