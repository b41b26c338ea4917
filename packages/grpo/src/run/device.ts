import { cudaDeviceCount, mpsAvailable } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';

/** What libtorch finds in this machine beside the CPU. */
export interface Devices {
  cuda: boolean;
  mps: boolean;
}

/**
 * Where tensors live: the configured device, or for `auto` cuda where there is one, else the CPU. Metal (`mps`) has to
 * be asked for.
 *
 * @param source - who asks, for the message
 * @throws UserError: the device is not there
 */
export function resolveDevice(
  device: Config['device'],
  { source, found = findDevices() }: { source?: string; found?: Devices } = {},
): string {
  if (device === 'cpu' || (device === 'auto' && !found.cuda)) return 'cpu';
  if (device === 'auto' || (device === 'cuda' && found.cuda)) return 'cuda:0';
  if (device === 'mps' && found.mps) return 'mps';
  const [name, needs] =
    device === 'cuda'
      ? [
          'CUDA device',
          'It needs an NVIDIA driver and a libtorch built for CUDA; LIBTORCH chooses another one',
        ]
      : ['Metal device', 'It needs a Mac with Apple silicon, and a libtorch built for it'];
  throw new UserError(
    `device=${device}${source === undefined ? '' : ` (${source})`}, but libtorch finds no ${name}`,
    { hint: `${needs}. grpo env shows what was found; device=auto uses what is available.` },
  );
}

/** Which device is used and why, in a line: `Device: cpu (auto: no CUDA device)`. Throws as {@link resolveDevice}. */
export function describeDevice(
  device: Config['device'],
  source: string,
  found: Devices = findDevices(),
): string {
  const chosen = resolveDevice(device, { source, found });
  const why = device === 'auto' ? `auto: ${found.cuda ? 'the first CUDA device' : 'no CUDA device'}` : source;
  return `Device: ${chosen} (${why})`;
}

const findDevices = (): Devices => ({ cuda: cudaDeviceCount() > 0, mps: mpsAvailable() });
