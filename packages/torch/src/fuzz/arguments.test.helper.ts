import { Tensor } from '../index.js';
import type { SchemaArgument } from '../schema.js';
import { foreign } from './foreign.test.helper.js';
import { disguise, fresh, indices, segments, type World } from './world.test.helper.js';

const smallIntegers = [0, 0, 0, 1, 1, 2, 3, -1, -1, -2, -3, 4];
const oddIntegers = [5, 17, 300, -7, 64, 2 ** 20, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 40, 2 ** 53 - 1,
  2 ** 53, -(2 ** 53), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 62n, 1.5, Number.NaN, -0, Number.POSITIVE_INFINITY]; // biome-ignore format: a table
const floats = [0, 1, 0.5, -1, 1e-6, 2, 0.9, -0, 1e308, 1e-320, Number.NaN, Number.POSITIVE_INFINITY];
const texts = ['none', 'tanh', '', 'mean', 'a\0b', 'ü'.repeat(300)];
const dtypes = ['float32', 'float32', 'float64', 'bfloat16', 'float16', 'int64', 'int32', 'uint8', 'bool',
  'complex64', 'float', 6, '__proto__']; // biome-ignore format: a table
const devices = ['cpu', 'cpu', 'cpu', 'cpu:0', 'cpu:1', 'cuda', 'cuda:0', 'cuda:-1', 'cuda:999', 'mps', 'meta', 'xla',
  'vulkan', 'gpu', '', 'cpu:99999999999']; // biome-ignore format: a table

/** Traits that the arguments of one call share, so that some calls fit together. */
interface Common {
  like: Tensor | undefined;
  /** How often a tensor has the shape and dtype of the first. */
  unity: number;
  length: number;
}

/** Arguments for one call by an operator's schema: keywords, if any, in an object at the end. */
export function argumentsOf(world: World, schema: readonly SchemaArgument[]): unknown[] {
  const { random } = world;
  const common: Common = { like: undefined, unity: random.pick([0.3, 0.6, 1]), length: random.below(4) };
  // Most calls are right throughout but for what chance makes of shapes and values.
  const spoiled = random.chance(0.25) ? random.below(schema.length + 1) : -1;
  const value = (argument: SchemaArgument, i: number) =>
    i === spoiled ? foreign(world) : one(world, argument, common);
  const positional = schema.filter((a) => !a.keywordOnly);
  const required = positional.filter((a) => !a.optional).length;
  const count = random.chance(0.5)
    ? positional.length
    : required + random.below(positional.length - required + 1);
  const args = positional.slice(0, count).map(value);
  const keywords = schema.filter((a, i) => i >= count && !isDefaulted(a, random.next()));
  if (keywords.length > 0)
    args.push(Object.fromEntries(keywords.map((a, i) => [a.name, value(a, count + i)])));
  if (random.chance(0.02)) args.pop();
  if (random.chance(0.02)) args.push(foreign(world));
  return args;
}

// Where a tensor lies in memory is rarely given.
const isDefaulted = ({ name, optional }: SchemaArgument, u: number) =>
  optional && u > (['layout', 'pin_memory', 'memory_format', 'device'].includes(name) ? 0.1 : 0.5);

function one(world: World, { name, type }: SchemaArgument, common: Common): unknown {
  const { random } = world;
  if (type.endsWith('?')) {
    if (random.chance(0.4)) return random.chance(0.9) ? null : undefined;
    return one(world, { name, type: type.slice(0, -1), keywordOnly: false, optional: false }, common);
  }
  const list = /^(.*)\[\d*\]$/.exec(type);
  if (list) return listOf(world, name, list[1]!, common);
  switch (type) {
    case 'Tensor':
      return tensorFor(world, name, common);
    case 'int':
    case 'SymInt':
      return /^(chunk|rows)$/.test(name) && random.chance(0.7) ? random.pick([1, 2, 64]) : integer(world);
    case 'Scalar':
      return random.pick([1, 2, 0.5, -1, true, 3n, 1e300, ...floats, ...oddIntegers]);
    case 'float':
      return random.pick(floats);
    case 'bool':
      return random.chance(0.5);
    case 'str':
      return random.pick(texts);
    case 'ScalarType':
      return random.pick(dtypes);
    case 'Device':
      return random.pick(devices);
    case 'Generator':
      return random.pick(world.generators);
    case 'Layout':
    case 'MemoryFormat':
      return random.pick([0, 1, 2, 3, 4, 9, 100, -1]);
    default:
      throw new Error(`the fuzz knows no ${type}`);
  }
}

function integer({ random }: World): number | bigint {
  return random.chance(0.85) ? random.pick(smallIntegers) : random.pick(oddIntegers);
}

function tensorFor({ random, tensors, disposed }: World, name: string, common: Common): unknown {
  const { like } = common;
  const choose = () => {
    if (/^(index|indices|sorter)$/.test(name) && random.chance(0.8))
      return indices(random, like && random.chance(0.6) ? small(like.shape) : undefined);
    if (name === 'targets' && like && random.chance(0.9))
      return indices(random, small(like.shape).slice(0, 1));
    if (name === 'segments' && like && random.chance(0.9)) return segments(random, small(like.shape)[0] ?? 1);
    if (/^(mask|condition)$/.test(name) && random.chance(0.7))
      return fresh(random, like && small(like.shape), 'bool');
    if (name === 'other' && random.chance(0.2)) return random.pick([0, 1, 2.5, -0, Number.NaN, 2n ** 62n]);
    if (name === 'state_steps' && random.chance(0.8)) return fresh(random, [], 'float32');
    if (like && random.chance(common.unity)) return fresh(random, small(like.shape), dtypeOf(like));
    if (random.chance(0.01)) return random.pick(disposed);
    return random.chance(0.7) ? random.pick(tensors) : disguise(random, fresh(random));
  };
  const chosen = choose();
  if (chosen instanceof Tensor && !chosen.disposed) common.like ??= chosen;
  return chosen;
}

const small = (shape: readonly number[]) => shape.map((size) => Math.min(size, 64)).slice(0, 6);

const dtypeOf = (like: Tensor) => like.dtype;

function listOf(world: World, name: string, element: string, common: Common): unknown {
  const { random } = world;
  if (element === 'Tensor') {
    const length = random.chance(0.9) ? common.length : random.below(6);
    return random.list(length, () => tensorFor(world, name, common));
  }
  const shape = common.like?.shape ?? [];
  switch (random.below(10)) {
    case 0:
    case 1:
      return shape.slice(-1 - random.below(2));
    case 2:
      return random.chance(0.5) ? [...shape] : [...shape].reverse();
    case 3:
      return [...shape.keys()];
    case 4:
      return [-1];
    case 5:
      return random.chance(0.9) ? integer(world) : random.list(100, () => 1);
    default:
      return random.list(random.below(5), () => integer(world));
  }
}
