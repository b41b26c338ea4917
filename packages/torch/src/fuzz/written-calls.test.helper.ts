import * as torch from '../index.js';
import { Tensor } from '../index.js';
import { fitted } from './fitting-calls.test.helper.js';
import { foreign } from './foreign.test.helper.js';
import type { Call } from './typed-calls.test.helper.js';
import { fresh, type World } from './world.test.helper.js';

/** TypeScript would refuse most of these. */
type Loose = (...args: unknown[]) => unknown;
const loose = (call: unknown) => call as Loose;
const tensorClass = Tensor.prototype as unknown as Record<string, Loose>;

const mostly = (world: World, make: () => unknown): unknown =>
  world.random.chance(0.8) ? make() : foreign(world);

const aTensor = (world: World) => mostly(world, () => world.random.pick(world.tensors));
const someTensors = (world: World) =>
  mostly(world, () => world.random.list(world.random.below(3), () => aTensor(world)));
const aShape = (world: World) =>
  mostly(world, () =>
    world.random.list(world.random.below(4), () => world.random.pick([0, 1, 2, 3, 2 ** 20, -1, 2 ** 53])),
  );
const aDType = (world: World) =>
  mostly(world, () => world.random.pick(['float32', 'int64', 'bool', 'bfloat16']));
const aSeed = (world: World) => mostly(world, () => world.random.pick([0, 1, -1, 2 ** 53 - 1]));
const bytes = ({ random }: World) =>
  Uint8Array.from(random.list(random.pick([0, 4, 8, 24, 36]), () => random.below(256)));

/** A generator's state, with now and then a wrong byte or another length. */
function state(world: World): unknown {
  const { random } = world;
  const data = random.pick(world.generators).state.toBytes();
  for (let k = random.below(4); k > 0; k--)
    data[random.below(random.chance(0.5) ? 64 : data.length)] = random.below(256);
  const length = random.chance(0.8) ? data.length : random.below(data.length);
  return mostly(world, () => torch.fromBytes(data.slice(0, length), [length], 'uint8'));
}

function adamW(world: World): unknown {
  const { random } = world;
  const parameters = random.list(random.below(3), () => {
    const parameter = random.pick(world.tensors);
    return parameter.disposed || random.chance(0.3) ? parameter : parameter.detach();
  });
  for (const parameter of parameters) if (random.chance(0.9)) parameter.requiresGrad = true;
  const options = { beta1: random.pick([0.9, 0, Number.NaN]), beta2: 0.99, epsilon: 1e-8, weightDecay: 0.1 };
  const optimizer = new torch.AdamW(new Map(parameters.map((p, i) => [`${i}`, p])), options);
  try {
    optimizer.accumulate(() => {
      for (const parameter of parameters) parameter.mul(random.pick(world.tensors)).sum().backward();
    });
    if (random.chance(0.2)) optimizer.zeroGrad();
    return optimizer.step(loose(() => mostly(world, () => 0.1))() as number, random.pick([0, 1, -1]))
      .gradNorm;
  } finally {
    optimizer.dispose();
  }
}

/** The operators of our own that have a backward pass. */
const differentiable: [name: string, call: Loose][] = [
  ['linear', loose(torch.linear)],
  ['segmentAttention', loose(torch.segmentAttention)],
  ['tokenScores', loose(torch.tokenScores)],
];

/** Through an operator whose backward pass is ours, with a gradient that fits; now and then also through that pass. */
function ownBackward(world: World): unknown {
  const { random } = world;
  const [name, call] = random.pick(differentiable);
  const args = fitted(world, name);
  if (args[0] instanceof Tensor && args[0].dtype.includes('float')) args[0].requiresGrad = true;
  const output = random.pick([call(...args)].flat()) as Tensor;
  const { shape, dtype } = output;
  // Repeated without copying, as that of a sum is, or of memory of its own.
  const repeated = () => fresh(random, Array(shape.length).fill(1), dtype).expand([...shape]);
  const like = random.chance(0.5) ? repeated() : fresh(random, [...shape], dtype);
  const gradient = random.chance(0.9) ? like : random.pick(world.tensors);
  const leaves = args.filter((arg): arg is Tensor => arg instanceof Tensor && arg.requiresGrad);
  const options = { retainGraph: random.chance(0.3), createGraph: random.chance(0.2) };
  if (random.chance(0.3)) return output.backward(gradient, options);
  return torch.grad([output], leaves, [gradient], options);
}

/** A value that a scope's body returns beside a tensor. */
const returned = ({ random, tensors }: World) =>
  random.pick([null, { deep: [random.pick(tensors)] }, { get trap() { throw new Error('a trap'); } }, new Proxy({}, {})]); // biome-ignore format: one a line

/** Every call that is no operator, by name. */
const written: Record<string, (world: World) => [args: unknown[], run: Loose]> = {
  tensor: (w) => {
    const data = mostly(w, () =>
      w.random.list(w.random.pick([0, 1, 6]), () => w.random.pick([1, -2, 0.5, Number.NaN])),
    );
    return [
      [data, mostly(w, () => w.random.pick([undefined, [2, 3], [1], [0]])), { dtype: aDType(w) }],
      loose(torch.tensor),
    ];
  },
  'tensor of typed array': (w) => {
    const type = w.random.pick([
      Float32Array,
      Float64Array,
      BigInt64Array,
      Int32Array,
      Uint16Array,
      Uint8ClampedArray,
    ]);
    return [[new type(w.random.pick([0, 1, 6])), aShape(w)], loose(torch.tensor)];
  },
  fromBytes: (w) => [[mostly(w, () => bytes(w)), aShape(w), aDType(w)], loose(torch.fromBytes)],
  'new Tensor': (w) => [
    [foreign(w)],
    (handle) => `${new (Tensor as unknown as new (handle: unknown) => Tensor)(handle)}`,
  ],
  item: (w) => [[aTensor(w)], (t) => tensorClass.item!.call(t)],
  toNumbers: (w) => [[aTensor(w)], (t) => tensorClass.toNumbers!.call(t)],
  toBytes: (w) => [[aTensor(w)], (t) => tensorClass.toBytes!.call(t)],
  'as text': (w) => [[aTensor(w)], (t) => tensorClass.toString!.call(t)],
  size: (w) => [
    [aTensor(w), mostly(w, () => w.random.pick([0, -1, 7]))],
    (t, dim) => tensorClass.size!.call(t, dim),
  ],
  toDevice: (w) => [
    [aTensor(w), mostly(w, () => 'cpu')],
    (t, device) => tensorClass.toDevice!.call(t, device),
  ],
  fields: (w) => [[aTensor(w)], (t) => {
    const { shape, numel, dtype, device, disposed, requiresGrad } = t as Tensor;
    return `${shape} ${numel} ${dtype} ${device} ${disposed} ${requiresGrad}`;
  }], // biome-ignore format: one body
  'set requiresGrad': (w) => [[aTensor(w), mostly(w, () => w.random.chance(0.5))], (t, value) => {
    (t as Tensor).requiresGrad = value as boolean;
  }], // biome-ignore format: one body
  grad: (w) => [[aTensor(w)], (t) => (t as Tensor).grad],
  'set grad': (w) => {
    const t = w.random.pick(w.tensors);
    const like = () => (t.disposed || t.numel > 4096 ? null : fresh(w.random, t.shape.slice(0, 6), t.dtype));
    return [[t, w.random.chance(0.5) ? like() : aTensor(w)], (leaf, value) => {
      (leaf as Tensor).grad = value as Tensor;
    }]; // biome-ignore format: one body
  },
  backward: (w) => [[aTensor(w), w.random.chance(0.3) ? aTensor(w) : undefined], (t, weight) =>
    (t as Tensor).backward(weight as Tensor, { retainGraph: w.random.chance(0.3) })], // biome-ignore format: one body
  'backward of several': (w) => [[someTensors(w), someTensors(w)], loose(torch.backward)],
  'backward of a sum': (w) => [[w.random.pick(w.tensors), w.random.pick(w.tensors)], (a, b) =>
    (a as Tensor).mul(b as Tensor).sum().backward()], // biome-ignore format: one body
  'backward of our own': (w) => [[], () => ownBackward(w)],
  'grad of': (w) => {
    const options = { retainGraph: w.random.chance(0.5), createGraph: w.random.chance(0.5) };
    const gradients = w.random.chance(0.5) ? undefined : someTensors(w);
    if (w.random.chance(0.5))
      return [[someTensors(w), someTensors(w), gradients, options], loose(torch.grad)];
    const x = fresh(w.random, [2, 3], 'float32');
    x.requiresGrad = true;
    return [[[x.mul(fresh(w.random, [2, 3])).sum()], [x], undefined, options], loose(torch.grad)];
  },
  'new Generator': (w) => [[aSeed(w)], (seed) => {
    w.generators[0] = new torch.Generator(seed as number);
  }], // biome-ignore format: one body
  'set state': (w) => [[w.random.pick(w.generators), state(w)], (generator, value) => {
    (generator as torch.Generator).state = value as Tensor;
    return torch.zeros([700]).uniform_(0, 1, { generator: generator as torch.Generator });
  }], // biome-ignore format: one body
  setRngState: (w) => [[state(w)], (value) => {
    torch.setRngState(value as Tensor);
    return torch.zeros([3]).normal_();
  }], // biome-ignore format: one body
  manualSeed: (w) => [[aSeed(w)], loose(torch.manualSeed)],
  setThreads: (w) => [
    [mostly(w, () => w.random.pick([0, 1, -1, 1.5, 2 ** 31, 2 ** 53]))],
    loose(torch.setThreads),
  ],
  noGrad: (w) => [[mostly(w, () => () => w.random.pick(w.tensors))], loose(torch.noGrad)],
  inferenceMode: (w) => [
    [mostly(w, () => () => w.random.pick(w.tensors).mul(2))],
    loose(torch.inferenceMode),
  ],
  tidy: (w) => [
    [mostly(w, () => () => [w.random.pick(w.tensors).add(1), returned(w)])],
    (body) => (loose(torch.tidy)(body) as unknown[])[0],
  ],
  'a promise in tidy': (w) => [[], () => torch.tidy(() => Promise.resolve(w.random.pick(w.tensors).add(1)))],
  keep: (w) => [[mostly(w, () => w.random.pick(w.tensors))], (t) => torch.keep(t as Tensor).dispose()],
  dispose: (w) => [[mostly(w, () => w.random.pick(w.tensors))], (t) => tensorClass.dispose!.call(t)],
  AdamW: (w) => [[], () => adamW(w)],
};

/** The names of all of them. */
export const writtenNames = Object.keys(written);

export function writtenCall(world: World, name: string): Call {
  const [args, run] = written[name]!(world);
  return { name, args, run: () => run(...args) };
}
