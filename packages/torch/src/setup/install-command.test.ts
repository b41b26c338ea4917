import { expect, it } from 'vitest';
import { installCommand } from './install-command.js';

const machine = (programs: string[], isRoot = false, platform: NodeJS.Platform = 'linux') => ({
  platform,
  isRoot,
  has: (program: string) => programs.includes(program),
});

it.each([
  [
    'root on Debian',
    machine(['apt-get', 'sudo'], true),
    'apt-get install g++',
    'apt-get install python3-venv',
  ],
  ['a sudoer', machine(['apt-get', 'sudo']), 'sudo apt-get install g++', 'sudo apt-get install python3-venv'],
  [
    'without sudo',
    machine(['apt-get']),
    "su -c 'apt-get install g++'",
    "su -c 'apt-get install python3-venv'",
  ],
  ['Fedora', machine(['dnf', 'sudo']), 'sudo dnf install gcc-c++', 'sudo dnf install python3-pip'],
  ['a Mac', machine([], false, 'darwin'), 'xcode-select --install', 'xcode-select --install'],
  ['elsewhere', machine([]), undefined, undefined],
])('%s', (_, here, compiler, pip) => {
  expect(installCommand('compiler', here)).toBe(compiler);
  expect(installCommand('pip', here)).toBe(pip);
});
