import { auditRecordOf } from '../../audit/audit-record.js';
import type { Measured } from '../../audit/context.js';
import type { AuditRecord } from '../../trace/index.js';
import type { EvalAuditContext } from './context.js';
import { compareGrades } from './grades.js';
import { compareProblems } from './problems.js';
import { compareScores } from './scores.js';
import { compareTokens } from './tokens.js';

/**
 * Holds an evaluation to an independent plain path: its problems to the held-out rows, its completions to the
 * weights, its grades to a second grading, and its scores to the grades. It changes nothing.
 */
export async function auditEvaluation(context: EvalAuditContext): Promise<AuditRecord> {
  const measured: Measured[] = [
    { comparisons: compareProblems(context) },
    ...compareTokens(context),
    ...(await compareGrades(context)),
    { comparisons: compareScores(context) },
  ];
  // Those that a record names are of a step: an evaluation has completions of its own.
  return auditRecordOf(measured);
}
