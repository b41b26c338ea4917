import { describe } from './describe.js';

/** Checked here: libtorch knows twenty more kinds of device, some of which hold no memory and crash other operators. */
export function deviceName(device: unknown): string {
  if (typeof device !== 'string' || !/^(cpu|mps|cuda(:\d{1,3})?)$/.test(device))
    throw new TypeError(`unknown device ${describe(device)}; known: cpu, cuda, cuda:0, cuda:1, …, mps`);
  return device;
}
