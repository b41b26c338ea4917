import { readFileSync } from 'node:fs';

/**
 * When a process began, in the system's own terms, so that another one that got the same id is told apart: restarted
 * containers hand out the same ids. Only Linux says; elsewhere it is empty. Undefined when there is no such process.
 */
export function startOf(pid: number): string | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return undefined;
    // EPERM: it is there, but somebody else's.
  }
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Field 22; the second one, in brackets, may itself hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Another one after each start of the machine: process ids and their times begin anew. Empty where it is unknown. */
export function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
