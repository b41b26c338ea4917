import { isOnPath } from './run.js';

/** Programs that set-up may lack and a package manager has. */
export type Wanted = 'compiler' | 'pip';

/** Facts that decide how a program is installed. */
export interface Machine {
  platform: NodeJS.Platform;
  isRoot: boolean;
  has(program: string): boolean;
}

const linuxPackages: Record<string, Record<Wanted, string>> = {
  // Debian's venv brings python3 and pip along.
  'apt-get': { compiler: 'g++', pip: 'python3-venv' },
  dnf: { compiler: 'gcc-c++', pip: 'python3-pip' },
  zypper: { compiler: 'gcc-c++', pip: 'python3-pip' },
};

/** The command that installs a program on this machine; undefined where we know none. */
export function installCommand(wanted: Wanted, machine: Machine = thisMachine()): string | undefined {
  // Apple's tools have the compiler and python3 with pip.
  if (machine.platform === 'darwin') return 'xcode-select --install';
  const manager = Object.keys(linuxPackages).find((name) => machine.has(name));
  if (!manager) return undefined;
  const command = `${manager} install ${linuxPackages[manager]![wanted]}`;
  if (machine.isRoot) return command;
  return machine.has('sudo') ? `sudo ${command}` : `su -c '${command}'`;
}

function thisMachine(): Machine {
  return { platform: process.platform, isRoot: process.getuid?.() === 0, has: isOnPath };
}
