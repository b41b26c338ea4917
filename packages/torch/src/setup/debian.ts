import { inspectLayout, type Layout, type Missing } from './layout.js';
import { isOnPath, lastLine, run } from './run.js';
import type { Say } from './say.js';

const packages = ['libtorch-dev', 'libopenblas0'];

/** Debian's libtorch, installed by apt when it is not there. */
export async function findDebianTorch(say: Say): Promise<Layout | Missing> {
  const present = inspectLayout('/usr');
  if (!('why' in present)) return present;
  if (!isOnPath('apt-get')) return { why: 'there is no apt-get' };
  const root = process.getuid?.() === 0;
  if (!root && !isOnPath('sudo')) return { why: 'apt-get needs root, and there is no sudo' };
  say(`Installing Debian's ${packages.join(' and ')} with ${root ? '' : 'sudo '}apt-get.`);
  const install = ['install', '-y', '--no-install-recommends', ...packages];
  let { code, output } = await apt(root, install);
  if (code !== 0) {
    // Fresh images come without package lists, and old lists name files that are gone.
    await apt(root, ['update']);
    ({ code, output } = await apt(root, install));
  }
  return code === 0 ? inspectLayout('/usr') : { why: `apt-get failed: ${lastLine(output)}` };
}

function apt(root: boolean, args: string[]) {
  const command = ['env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args];
  // Without a terminal nobody can type a password, so sudo must not wait for one.
  const [program, ...rest] = root ? command : ['sudo', ...(process.stdin.isTTY ? [] : ['-n']), ...command];
  return run(program!, rest);
}
