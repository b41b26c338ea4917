import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheDir } from '../../packages/torch/dist/setup/paths.js';
import { indexVariable } from '../../packages/torch/dist/setup/pytorch/pinned.js';
import { wheels } from '../../packages/torch/dist/setup/pytorch/pip.js';

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
  if (!runs(['python3', '-m', 'venv', folder]))
    throw new Error('python3 could not make a virtual environment; on Debian: apt-get install python3-venv');
  const install = [python, '-m', 'pip', 'install', '--disable-pip-version-check'];
  const index = indexVariable();
  // The CPU build, as set-up gets it, and then what it and TRL require.
  if (!wheels(process.platform, false).some((wanted) => runs([...install, ...wanted])))
    throw new Error('pip could not install torch; its message is above.');
  if (!runs([...install, ...(index ? ['--index-url', index] : []), '-r', requirements]))
    throw new Error('pip could not install TRL; its message is above.');
  return python;
}

const importsTrl = (python) =>
  spawnSync(python, ['-c', 'import datasets, torch, trl'], { stdio: 'ignore' }).status === 0;

/** What is printed goes to standard error: standard output is for results. */
const runs = ([command, ...args]) => spawnSync(command, args, { stdio: ['ignore', 2, 2] }).status === 0;
