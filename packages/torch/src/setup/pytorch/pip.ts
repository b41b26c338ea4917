import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { installCommand } from '../install-command.js';
import type { Missing } from '../layout.js';
import { withProgress } from '../progress.js';
import { run } from '../run.js';
import type { Say } from '../say.js';
import { cpuIndex, indexVariable, pinnedTorch } from './pinned.js';

/** Installs the pinned PyTorch to `site` with pip; `aside` is a folder for what pip needs meanwhile. */
export async function installWithPip(site: string, aside: string, say: Say): Promise<Missing | undefined> {
  const pip = await findPip(join(aside, 'venv'));
  if ('why' in pip) return pip;
  // pip unpacks in TMPDIR before it moves: on another, small file system a CUDA wheel would not fit.
  const temporary = join(aside, 'tmp');
  mkdirSync(temporary, { recursive: true });
  say(`Installing PyTorch ${pinnedTorch} with pip, once for all clones; this may take minutes.`);
  const [python, ...args] = pip;
  args.push('install', '--disable-pip-version-check', '--no-warn-script-location', '--no-compile');
  args.push('--target', site);
  // A user's settings for ordinary installs would be refused together with --target.
  const env = {
    TMPDIR: temporary,
    PIP_USER: '0',
    PIP_REQUIRE_VIRTUALENV: '0',
    PIP_ROOT_USER_ACTION: 'ignore',
  };
  for (const [i, wanted] of wheels().entries()) {
    if (i > 0) say("That installed no CPU build. Trying PyTorch's default, which may be several gigabytes.");
    const install = () => run(python!, [...args, ...wanted], { env, show: true });
    // On a terminal pip shows how far it is.
    const { code } = await (say.over
      ? install()
      : withProgress(say, (progress) => {
          progress.show('pip is running');
          return install();
        }));
    if (code === 0) return undefined;
    rmSync(site, { recursive: true, force: true });
  }
  return { why: `pip could not install torch==${pinnedTorch}, its message is above` };
}

/** A command that runs pip. Debian's python3 comes without pip; where it has venv, `aside` gets one with pip. */
async function findPip(aside: string): Promise<string[] | Missing> {
  const own = await run('python3', ['-m', 'pip', '--version']);
  if (own.code === 0) return ['python3', '-m', 'pip'];
  const command = installCommand('pip');
  const cure = command ? ` (to have it: ${command})` : '';
  if (own.code === null) return { why: `there is no python3${cure}` };
  const venv = await run('python3', ['-m', 'venv', aside]);
  if (venv.code !== 0) return { why: `python3 has neither pip nor venv${cure}` };
  return [`${aside}/bin/python`, '-m', 'pip'];
}

/** Arguments of pip, one list per attempt: without an NVIDIA driver the small CPU build first. */
export function wheels(
  platform: NodeJS.Platform = process.platform,
  hasNvidia = hasNvidiaDriver(),
): string[][] {
  const own = indexVariable();
  const from = own ? ['--index-url', own] : [];
  const standard = [`torch==${pinnedTorch}`, ...from];
  // Only Python needs what the wheel depends on; where the GPU is used it needs NVIDIA's libraries, too.
  if (platform === 'darwin') return [[...standard, '--no-deps']];
  if (platform !== 'linux' || hasNvidia) return [standard];
  const cpu = [`torch==${pinnedTorch}+cpu`, '--no-deps', ...(own ? from : ['--extra-index-url', cpuIndex])];
  return [[...cpu, '--retries', '1', '--timeout', '30'], standard];
}

/** Whether an NVIDIA driver runs, and so a CUDA build is worth its size. */
export function hasNvidiaDriver(): boolean {
  return existsSync('/proc/driver/nvidia/version');
}
