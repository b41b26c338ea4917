import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../../packages/torch/dist/setup/paths.js';
import { cpuIndex, indexVariable, pinnedTorch } from '../../packages/torch/dist/setup/pinned.js';

const requirements = fileURLToPath(new URL('../../parity/requirements.txt', import.meta.url));

/** A Python that imports TRL: GRPO_BENCH_PYTHON, or one in a virtual environment in the cache folder, made when missing. */
export function trlPython() {
  const own = process.env.GRPO_BENCH_PYTHON;
  if (own) {
    if (!importsTrl(own))
      throw new Error(`GRPO_BENCH_PYTHON=${own} does not import trl, torch and datasets.`);
    return own;
  }
  const folder = join(cacheDir(), 'bench-python');
  const python = join(folder, 'bin', 'python');
  if (importsTrl(python)) return python;
  console.error(`Making a virtual environment with TRL in ${folder}: about 1 GB, once for all clones.`);
  run('python3', ['-m', 'venv', folder]);
  const index = indexVariable();
  const cpu = process.platform === 'linux' && !index;
  const torch = `torch==${pinnedTorch}${cpu ? '+cpu' : ''}`;
  const from = index ? ['--index-url', index] : cpu ? ['--extra-index-url', cpuIndex] : [];
  run(python, ['-m', 'pip', 'install', '--disable-pip-version-check', ...from, torch, '-r', requirements]);
  return python;
}

const importsTrl = (python) =>
  spawnSync(python, ['-c', 'import datasets, torch, trl'], { stdio: 'ignore' }).status === 0;

function run(command, args) {
  // What is printed goes to standard error: standard output is for results.
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2] });
  if (error) throw error;
  if (status !== 0)
    throw new Error(
      `${command} ${args.join(' ')} ended with ${status}; on Debian: apt-get install python3-venv`,
    );
}
