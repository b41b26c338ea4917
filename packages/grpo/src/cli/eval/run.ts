import { setThreads } from '@grpo/torch';
import { type ResolvedConfig, resolveConfig } from '../../config/index.js';
import type { Config } from '../../config/schema.js';
import { differenceOf } from '../../evaluation/difference.js';
import { evalCompletionRow } from '../../evaluation/eval-completion.js';
import type { EvalResult } from '../../evaluation/evaluate.js';
import {
  type AuditedResult,
  type EvaluationVerdict,
  evaluateAudited,
} from '../../evaluation/evaluate-audited.js';
import { writeFileAtomic } from '../../formats/atomic-file.js';
import { Watch } from '../../progress/watch.js';
import { describeDevice } from '../../run/device.js';
import { withMemory } from '../../run/memory-plan.js';
import { openSampler } from '../../run/model-source.js';
import { openTask } from '../../run/open-task.js';
import type { Task } from '../../tasks/task.js';
import { claimStdout } from '../claim-stdout.js';
import { type CommandArguments, EXIT } from '../command.js';
import { evaluationTable, exampleLabel, fewProblems, formatDifference } from '../evaluation.js';
import { createReporter } from '../live.js';
import { wrongRules } from './wrong-rules.js';

/**
 * `grpo eval`: accuracy, pass@k, rewards and lengths on a task's held-out problems, of one model or against another. Exit
 * code 3 where a second computation does not agree.
 */
export async function run({ flags, settings }: CommandArguments): Promise<number> {
  const resolved = withMemory(
    resolveConfig({ command: 'eval', file: flags.config as string | undefined, settings }),
  );
  const { config, provenance } = resolved;
  if (config.threads !== undefined) setThreads(config.threads);
  using claimed = flags.json ? claimStdout() : undefined;
  process.stderr.write(`${describeDevice(config.device, provenance.device!)}\n`);
  const against = flags.against as string | undefined;
  // The adapter of the one is none of the other's.
  const lora = { ...config.lora, adapter: undefined };
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  using task = await openTask(config, watch);
  const result = await evaluateModel(resolved, task, watch);
  const other =
    against === undefined
      ? undefined
      : await evaluateModel({ ...resolved, config: { ...config, model: against, lora } }, task, watch);
  reporter.close();
  const compared = other && { model: against!, result: other, difference: compare(result, other) };

  const told = [result, ...(other ? [other] : [])].flatMap(({ audit }) => audit.findings);
  const warning = fewProblems(result);
  if (warning !== undefined) process.stderr.write(`${warning}\n`);
  (claimed ?? process.stdout).write(
    flags.json ? `${JSON.stringify(summary(result, compared))}\n` : report(result, config, compared),
  );
  // Last, so that a path that cannot be written costs no numbers.
  if (flags.completions !== undefined) {
    const rows = result.completions.map((completion) => `${JSON.stringify(evalCompletionRow(completion))}\n`);
    writeFileAtomic(flags.completions as string, rows.join(''));
  }
  return told.some(({ severity }) => severity === 'fail') ? EXIT.finding : 0;
}

async function evaluateModel(resolved: ResolvedConfig, task: Task, watch: Watch): Promise<AuditedResult> {
  const sampler = openSampler(resolved, task, watch);
  using _ = sampler.model.decoder;
  return await evaluateAudited(sampler, task, resolved.config, watch);
}

/** The model of `--against`, and how the first one differs from it. */
interface Compared {
  model: string;
  result: AuditedResult;
  difference: ReturnType<typeof compare>;
}

function compare(one: EvalResult, other: EvalResult) {
  const difference = (decoding: 'greedy' | 'sampled') =>
    differenceOf(one.completions, other.completions, decoding);
  return { greedy: difference('greedy'), ...(one.sampled && { sampled: difference('sampled') }) };
}

/** The result for JSON: everything but the completions, which have a file of their own. */
function summary({ completions: _, ...rest }: AuditedResult, compared?: Compared): object {
  if (!compared) return rest;
  const { model, result, difference } = compared;
  return { ...rest, against: { model, ...summary(result), difference } };
}

function report(result: AuditedResult, config: Config, compared?: Compared): string {
  const decoded = { ...config.eval, maxNewTokens: config.rollout.maxNewTokens };
  const rules = wrongRules(result.completions);
  const parts = [
    evaluationTable(result, decoded),
    auditText(result.audit),
    ...(rules.length > 0 ? [['Rules that judged the wrong answers:', ...rules].join('\n')] : []),
  ];
  if (compared) {
    const lines = Object.entries(compared.difference).map(([decoding, one]) =>
      formatDifference(decoding, one),
    );
    parts.push(
      `Against ${compared.model}, which has:`,
      evaluationTable(compared.result, decoded),
      auditText(compared.result.audit),
      ['Problem by problem, this model minus that one:', ...lines].join('\n  '),
    );
  }
  const shown = result.examples.map((one) => `${exampleLabel(one)}: ${one.prompt}${one.completion}`);
  return `${[...parts, ...shown].join('\n\n')}\n`;
}

/** How the second computation came out, a line for each thing. */
function auditText({ compared, findings, missing }: EvaluationVerdict): string {
  const lines = findings.map(({ code, severity, says, remedy }) => `${code} ${severity}: ${says} ${remedy}`);
  const lacks = missing.map((what) => `Not computed a second time, for want of ${what}.`);
  const agrees = `A second computation agrees in all ${compared} numbers and texts.`;
  return [...(lines.length > 0 ? lines : [agrees]), ...lacks].join('\n');
}
