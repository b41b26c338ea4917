import { cudaDeviceCount, mpsAvailable } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { describeDevice, resolveDevice } from './device.js';

const NONE = { cuda: false, mps: false };
const GPU = { cuda: true, mps: false };
const MAC = { cuda: false, mps: true };

describe('the device', () => {
  it.each([
    ['auto', NONE, 'Device: cpu (auto: no CUDA device)'],
    ['auto', GPU, 'Device: cuda:0 (auto: the first CUDA device)'],
    ['auto', MAC, 'Device: cpu (auto: no CUDA device)'],
    ['cpu', GPU, 'Device: cpu (run.yaml:3)'],
    ['cuda', GPU, 'Device: cuda:0 (run.yaml:3)'],
    ['mps', MAC, 'Device: mps (run.yaml:3)'],
  ] as const)('%s with %o', (device, found, line) => {
    expect(describeDevice(device, 'run.yaml:3', found)).toBe(line);
    expect(line.startsWith(`Device: ${resolveDevice(device, { found })} `)).toBe(true);
  });

  it.each([
    ['cuda', NONE, 'CUDA device'],
    ['mps', GPU, 'Metal device'],
  ] as const)('%s that is not there is an error that says who asked', (device, found, name) => {
    const message = `device=${device} (GRPO_DEVICE), but libtorch finds no ${name}`;
    expect(() => resolveDevice(device, { source: 'GRPO_DEVICE', found })).toThrow(message);
  });

  it('is looked for in this machine', () => {
    expect(resolveDevice('auto')).toBe(cudaDeviceCount() > 0 ? 'cuda:0' : 'cpu');
    expect(mpsAvailable()).toBe(process.platform === 'darwin' && process.arch === 'arm64');
  });
});
