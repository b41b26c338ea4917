import { readdirSync, statSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { buildConfiguration, cpuLevels, getThreads, torchVersion } from '@grpo/torch';
import type { Circumstances } from '../config/index.js';
import type { Config } from '../config/schema.js';
import { packageVersion } from '../config/version.js';
import { fingerprint } from '../formats/fingerprint.js';
import { known } from '../formats/known.js';
import { dataFiles } from '../tasks/data-files.js';

/** How libtorch's account of its build names what results depend on. */
const LIBRARIES = {
  blas: /BLAS_INFO=([^,\s]+)/,
  mkl: /Math Kernel Library Version ([^\s-]+)/,
  onednn: /MKL-DNN v(\S+)/,
  cuda: /CUDA Runtime (\S+)/,
  vector: /CPU capability usage: (\S+)/,
};

/** The libraries that libtorch computes with, and its vector instructions; without those that it does not state. */
export function engineLibraries(): Partial<Record<keyof typeof LIBRARIES, string>> {
  const built = buildConfiguration();
  const found = Object.entries(LIBRARIES).map(([name, pattern]) => [name, pattern.exec(built)?.[1]]);
  return known(Object.fromEntries(found));
}

/**
 * What a run's numbers depend on beside its settings, for its record.
 *
 * @param device - where the model is
 * @param modelDir - folder of the configured model
 */
export function circumstances(config: Config, device: string, modelDir: string | undefined): Circumstances {
  const { task, rewards, objective, lora, teacher } = config;
  const modules = [...rewards.map(({ module, judge }) => module ?? judge?.prompt), objective.module];
  const read = [task, ...(task.mix ?? [])].flatMap(({ data, evalData, prompt }) => [data, evalData, prompt]);
  const isThere = (path?: string) =>
    path !== undefined && statSync(path, { throwIfNoEntry: false }) !== undefined;
  const data = read.flatMap((path) => (isThere(path) ? dataFiles(path!) : []));
  const files = [...data, ...modules].filter((path) => path !== undefined && isFile(path)) as string[];
  return {
    versions: { grpo: packageVersion(), node: process.versions.node, libtorch: torchVersion() },
    engine: {
      device,
      threads: getThreads(),
      cpu: cpus()[0]?.model ?? '',
      ...engineLibraries(),
      kernels: cpuLevels().chosen,
    },
    files: Object.fromEntries([
      ...files.map((path) => [path, fingerprint(path)]),
      ...[modelDir, lora.adapter, teacher.model, ...rewards.map(({ model }) => model)]
        .flatMap(modelFiles)
        .map((path) => [path, fingerprint(path, { sample: true })]),
    ]),
  };
}

/** The files of a model that decide what it computes; none where it has gone, which only matters to those who load it. */
function modelFiles(dir: string | undefined): string[] {
  if (dir === undefined || !statSync(dir, { throwIfNoEntry: false })?.isDirectory()) return [];
  return readdirSync(dir)
    .filter((name) => /\.(json|safetensors|jinja|txt)$/.test(name))
    .sort()
    .map((name) => join(dir, name))
    .filter(isFile);
}

const isFile = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
