import { expect, it } from 'vitest';
import { type Machine, machineBudget } from './limit.js';

const machine = (change: Partial<Machine> = {}): Machine => ({
  physical: 20e9,
  allowed: 0,
  gpu: () => 80e9,
  ...change,
});

it.each<[string, string, Machine, number, string]>([
  ['the physical memory', 'cpu', machine(), 18e9, 'auto: 90 % of the physical memory, 20 GB'],
  ['a container', 'cpu', machine({ allowed: 8e9 }), 7.2e9, 'auto: 90 % of what the container allows, 8.0 GB'],
  [
    'a limit above it',
    'cpu',
    machine({ allowed: 2 ** 63 }),
    18e9,
    'auto: 90 % of the physical memory, 20 GB',
  ],
  ['a GPU', 'cuda:0', machine({ allowed: 8e9 }), 72e9, 'auto: 90 % of the memory of cuda:0, 80 GB'],
])('auto is nine tenths of %s', (_, device, found, bytes, source) => {
  expect(machineBudget(device, found)).toEqual({ bytes, source });
});

it('asks for a number where the GPU does not tell', () => {
  const found = machine({ gpu: () => 'no such file' });
  expect(() => machineBudget('cuda:0', found)).toThrow(
    /memory=auto: the memory of cuda:0 is not known: no such/,
  );
});
