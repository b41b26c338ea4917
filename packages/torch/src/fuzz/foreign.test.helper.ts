import { Tensor } from '../index.js';
import type { Random } from './random.test.helper.js';
import type { World } from './world.test.helper.js';

const refuse = () => {
  throw new Error('a trap');
};

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
};

class Angry {
  toString(): string {
    throw new Error('I have no text');
  }
}

/** Things that are no argument of any operator, and some that only look like one. */
const makers: ((random: Random, world: World) => unknown)[] = [
  () => null,
  () => undefined,
  () => ({}),
  () => [],
  () => '',
  () => 'float32',
  () => 'x'.repeat(100_000),
  () => Symbol('s'),
  () => 2n ** 100n,
  () => -(2n ** 63n),
  () => Number.NaN,
  () => -0,
  () => 2 ** 53,
  () => refuse,
  () => new Date(Number.NaN),
  () => new Map([['dtype', 1]]),
  () => Promise.resolve(1),
  () => new Angry(),
  () => Object.create(null),
  () => Object.create(Tensor.prototype),
  () => Tensor,
  () => ({ get dtype() { return refuse(); } }), // biome-ignore format: one a line
  () => ({ dim: 0, dtype: 'float32', constructor: null }),
  () => new Proxy({}, { ownKeys: refuse, get: refuse, getPrototypeOf: refuse }),
  () => new Proxy([1, 2], { get: refuse }),
  (_, { random, tensors }) => new Proxy(random.pick(tensors), {}),
  revoked,
  () => new Array(2 ** 32 - 1),
  () => Object.assign(new Array(1000), { 0: 1, 999: 2 }),
  () => Array(5000).fill(1),
  () => [[1, 2], [3]],
  () => [null, undefined, 'a'],
  () => new Uint8Array(8),
  () => new Float32Array(new SharedArrayBuffer(16)),
  (_, { tensors }) => ({ ...tensors[0] }),
  (_, { random, tensors }) => [random.pick(tensors), {}],
  (_, { random, tensors }) => random.pick(tensors),
  (_, { random, tensors }) => [random.pick(tensors), random.pick(tensors)],
  (_, { random, disposed }) => random.pick(disposed),
  (_, { generators, random }) => random.pick(generators),
];

export const foreign = (world: World): unknown => world.random.pick(makers)(world.random, world);
