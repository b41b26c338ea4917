import { describe } from './describe.js';
import { native } from './native.js';
import { handleOf, liveHandles, Tensor } from './tensor.js';

/** @param args - by name; what was not given is undefined */
export type Guard = (args: Record<string, unknown>) => void;

/** Checks that libtorch itself leaves out of a typed operator. */
export const guards: Record<string, Guard> = {
  // Counts in 64 bits without a look at their end and, for half precision, in float32: it then writes past the end.
  'aten::arange.start_step': ({ start, end, step, dtype }) => {
    const count = Math.ceil((Number(end) - Number(start)) / Number(step ?? 1));
    const most = dtype === 'bfloat16' || dtype === 'float16' ? 2 ** 24 : Number.MAX_SAFE_INTEGER;
    if (count > most)
      throw new RangeError(`${count} elements are too many${most === 2 ** 24 ? ` in ${dtype}` : ''}`);
  },

  // Makes tensors of a negative size.
  'aten::expand': ({ self, size }) => {
    if (!(self instanceof Tensor) || !Array.isArray(size)) return;
    const added = size.length - self.shape.length;
    for (const [i, n] of size.entries()) {
      // A new dimension has no size to keep.
      const least = i < added ? 0 : -1;
      if (!(n >= least)) throw new RangeError(`size ${i} must be at least ${least}, found ${describe(n)}`);
    }
  },

  // libtorch 1.13 follows its indices wherever they lead.
  'aten::searchsorted.Tensor': ({ sorter }) => {
    if (sorter) throw new TypeError('sorter cannot be given: sort the sequence');
  },

  // Divides by the number of heads before it looks at it.
  'aten::scaled_dot_product_attention': ({ query, key, value, enable_gqa }) => {
    if (!enable_gqa) return;
    const [heads, ...shared] = [query, key, value].map((t) =>
      t instanceof Tensor ? t.shape.at(-3) : undefined,
    );
    if (!shared.every((n) => heads && n && heads % n === 0))
      throw new RangeError('with enable_gqa the heads of query are a multiple of those of key and value');
  },

  // Goes through all lists in step by the sizes of self alone, and so beyond the end of a smaller tensor.
  'aten::_fused_adamw_': (args) => {
    const parameters = tensorList(args, 'self');
    const lists = ['self', 'grads', 'exp_avgs', 'exp_avg_sqs', ...(args.amsgrad ? ['max_exp_avg_sqs'] : [])];
    for (const name of lists) assertLike(tensorList(args, name), parameters, name);
    const steps = tensorList(args, 'state_steps');
    if (
      steps.length !== parameters.length ||
      steps.some((step) => `${step.dtype}[${step.shape}]` !== 'float32[]')
    )
      throw new TypeError('state_steps holds one float32 number for each tensor');
    if (args.grad_scale || args.found_inf) throw new TypeError('grad_scale and found_inf cannot be given');
  },
};

function tensorList(args: Record<string, unknown>, name: string): readonly Tensor[] {
  liveHandles(args[name], name);
  return args[name] as readonly Tensor[];
}

function assertLike(list: readonly Tensor[], parameters: readonly Tensor[], name: string): void {
  if (list.length !== parameters.length)
    throw new TypeError(`${name} has ${list.length} tensors for ${parameters.length} parameters`);
  for (const [i, tensor] of list.entries()) {
    if (`${tensor}` !== `${parameters[i]}`)
      throw new TypeError(`${name}[${i}] is ${tensor}, its parameter ${parameters[i]}`);
    if (!native.isContiguous(handleOf(tensor))) throw new TypeError(`${name}[${i}] is not contiguous`);
  }
}
