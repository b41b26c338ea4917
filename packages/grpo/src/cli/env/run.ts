import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { readBuildRecord } from '@grpo/torch/setup';
import { packageVersion } from '../../config/version.js';
import { type CommandArguments, EXIT } from '../command.js';
import { type EnvironmentReport, renderEnvironment } from './environment.js';

/** `grpo env`: prints the environment, or a run's memory; fails when the tensor engine was set up and does not load. */
export async function run({ flags, settings }: CommandArguments): Promise<number> {
  const file = flags.config as string | undefined;
  if (file !== undefined || settings.length > 0) {
    const { memoryTable } = await import('./memory-table.js');
    const { rows, estimate, requireFits } = await memoryTable(file, settings);
    process.stdout.write(flags.json ? `${JSON.stringify(estimate)}\n` : rows);
    requireFits();
    return 0;
  }
  const report = await collectEnvironment();
  process.stdout.write(flags.json ? `${JSON.stringify(report)}\n` : renderEnvironment(report));
  return report.build && !report.engine ? EXIT.error : 0;
}

async function collectEnvironment(): Promise<EnvironmentReport> {
  const about: EnvironmentReport = {
    versions: { grpo: packageVersion(), node: process.version },
    machine: {
      system: `${type()} ${release()} ${process.arch}`,
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memoryGiB: totalmem() / 2 ** 30,
    },
  };
  const record = readBuildRecord();
  if (!record) return { ...about, problem: 'libtorch is not set up yet. Run: npx grpo setup' };
  const { libtorch, addon, compiler, node } = record;
  const build = {
    libtorch: libtorch.version,
    source: libtorch.source,
    root: libtorch.root,
    addon,
    compiler,
    node: node.version,
  };
  try {
    const { reportEngine } = await import('./engine-report.js');
    return { ...about, build, engine: reportEngine() };
  } catch (error) {
    // The rest of the report helps to find out why the engine does not load.
    return { ...about, build, problem: error instanceof Error ? error.message : String(error) };
  }
}
