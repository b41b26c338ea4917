/** How many bytes a run may take: what the machine holds, never what is free of it at the moment. */
import { spawnSync } from 'node:child_process';
import { totalmem } from 'node:os';
import { byteCount } from '../errors/byte-count.js';
import { UserError } from '../errors/user-error.js';

/** Fixed limits, in bytes. */
export interface Machine {
  /** Physical memory. */
  physical: number;
  /** What a container or a control group allows; 0 or more than the physical memory where it sets no limit. */
  allowed: number;
  /** Memory of the GPU that CUDA calls first, or why it is not known. */
  gpu(): number | string;
}

/** The rest is the system's, and what no estimate foresees. */
const SHARE = 0.9;

/**
 * What `memory=auto` stands for.
 *
 * @param device - where the run computes
 * @throws UserError: the GPU does not tell its memory
 */
export function machineBudget(
  device: string,
  machine: Machine = thisMachine,
): { bytes: number; source: string } {
  const { limit, of } = device.startsWith('cuda') ? gpuLimit(device, machine) : hostLimit(machine);
  return { bytes: Math.floor(SHARE * limit), source: `auto: ${100 * SHARE} % of ${of}, ${byteCount(limit)}` };
}

function hostLimit({ physical, allowed }: Machine): { limit: number; of: string } {
  return allowed > 0 && allowed < physical
    ? { limit: allowed, of: 'what the container allows' }
    : { limit: physical, of: 'the physical memory' };
}

function gpuLimit(device: string, { gpu }: Machine): { limit: number; of: string } {
  const found = gpu();
  if (typeof found === 'number') return { limit: found, of: `the memory of ${device}` };
  throw new UserError(`memory=auto: the memory of ${device} is not known: ${found}`, {
    hint: 'Set the limit yourself, for instance memory=20GB.',
  });
}

const thisMachine: Machine = {
  physical: totalmem(),
  allowed: process.constrainedMemory() ?? 0,
  gpu: firstGpu,
};

/** The total of the first visible GPU, which the driver's own tool tells. */
function firstGpu(): number | string {
  const [first] = (process.env.CUDA_VISIBLE_DEVICES ?? '0').split(',');
  const asked = ['--query-gpu=memory.total', '--format=csv,noheader,nounits', `--id=${first}`];
  const { error, stdout, stderr } = spawnSync('nvidia-smi', asked, { encoding: 'utf8', timeout: 30_000 });
  if (error) return error.message;
  const mebibytes = Number(stdout.trim());
  return mebibytes > 0 ? mebibytes * 2 ** 20 : `nvidia-smi says: ${(stdout + stderr).trim()}`;
}
