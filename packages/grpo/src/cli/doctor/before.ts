import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resolveConfig } from '../../config/index.js';
import { examine } from '../../doctor/examine.js';
import { registry } from '../../doctor/registry.js';
import { formatValue } from '../../doctor/sentence.js';
import { largest, smallest } from '../../maths/moments.js';
import { modelAudit } from '../../run/findings/model-audit.js';
import { GrpoTrainer } from '../../run/grpo-trainer.js';
import { openRun, type Run } from '../../run/open-run.js';
import { type Preflight, preflight, warningLine } from '../../run/preflight.js';
import { reportOf } from '../../view/report/report.js';
import { claimStdout } from '../claim-stdout.js';
import { EXIT } from '../command.js';
import { createReporter } from '../live.js';
import { pageWidth } from '../text-layout.js';
import { watcherOf } from '../training.js';
import { jsonReport } from './data.js';
import { terminalReport } from './terminal.js';

/**
 * `grpo doctor --before CONFIG`: does the first step of the run in a folder that is thrown away, and says what it shows. Exit code 0
 * without findings, else 1.
 */
export async function runBefore(file: string, json: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'grpo-before-'));
  using claimed = json ? claimStdout() : undefined;
  const reporter = createReporter({ stream: process.stderr });
  try {
    const resolved = resolveConfig({ command: 'train', file, settings: [`output=${join(folder, 'run')}`] });
    const { train, rollout } = resolved.config;
    await using run = await openRun(resolved, {
      watcher: watcherOf(reporter, train.steps, rollout.prompts),
    });
    using trainer = await GrpoTrainer.open(run);
    const result = await preflight(trainer, 'whole', [modelAudit(run)]);
    reporter.close();
    const { record, canaries, warnings } = result;
    const diagnosis = examine({ records: [record] }, registry);
    const examined = {
      path: file,
      kind: 'the first step of a run',
      files: [file],
      records: 1,
      entries: 0,
      broken: { count: 0, first: [] },
      notes: [...(canaries?.news ?? []), ...warnings.map(warningLine)],
      isGrpo: true,
    };
    const lines = [...preflightLines(run, result), ''].join('\n');
    (claimed ?? process.stdout).write(
      json
        ? jsonReport(examined, diagnosis)
        : `${lines}\n${terminalReport(reportOf(examined, diagnosis, registry), pageWidth())}`,
    );
    const isClean =
      warnings.length === 0 && diagnosis.findings.every(({ severity }) => severity === 'inform');
    return isClean ? 0 : EXIT.error;
  } finally {
    reporter.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the step shows where nothing is wrong, a line per stage. */
function preflightLines(run: Run, { record, metrics, seconds }: Preflight): string[] {
  const { config, model, task, needs } = run;
  const { prompts, completions, rewards, updates } = record;
  const range = (values: ArrayLike<number>) =>
    [...new Set([smallest(values), largest(values)])].map(formatValue).join(' to ');
  const B = completions?.texts?.length ?? 0;
  const columns = (rewards?.names ?? []).map((name, k) => {
    const values = rewards!.values!.subarray(k * B, (k + 1) * B).filter((value) => !Number.isNaN(value));
    return values.length === 0 ? `${name} has no value` : `${name} ${range(values)}`;
  });
  const gap = metrics['sampling/sampling_logp_difference/mean'];
  const { gradNorm, changedShare } = updates?.at(-1) ?? {};
  const minutes = (seconds * config.train.steps) / 60;
  const line = (name: string, text: string) => `${name.padEnd(10)}${text}`;
  return [
    line(
      'Prompts',
      `${task.train.length} rows; in this step ${range(prompts!.lengths!)} ids of ${model.decoder.config.maxPositions}`,
    ),
    line(
      'Sampled',
      `${B} completions of ${range(completions!.lengths!)} tokens, ${completions!.finish!.filter((end) => end === 'length').length} cut off`,
    ),
    line('Rewards', columns.join(', ')),
    ...(gap === undefined
      ? []
      : [line('Sampler', `${formatValue(gap)} nat per token from the trainer's log-probs`)]),
    line(
      'Update',
      `gradient norm ${formatValue(gradNorm ?? Number.NaN)}, ${formatValue(100 * (changedShare ?? 0))} % of the weights moved`,
    ),
    line('Memory', needs.replace(/^Memory: /, '')),
    line(
      'Time',
      `${formatValue(seconds)} s with all measurements; ${config.train.steps} steps take at most about ${formatValue(minutes)} min`,
    ),
  ];
}
