import { Tensor } from './tensor.js';

/** Checks that libtorch itself leaves out of a typed operator, where a wrong argument reads beyond a tensor's end. */
export const guards: Record<string, (args: readonly unknown[]) => void> = {
  'aten::_fused_adamw_': (args) => {
    const [parameters, ...lists] = args.slice(0, 5).map((list) => (Array.isArray(list) ? list : []));
    const names = ['grads', 'exp_avgs', 'exp_avg_sqs', 'max_exp_avg_sqs'];
    for (const [k, list] of lists.entries()) {
      for (const [i, tensor] of list.entries()) {
        const parameter: unknown = parameters![i];
        if (!(tensor instanceof Tensor) || !(parameter instanceof Tensor)) continue;
        if (`${tensor}` !== `${parameter}`)
          throw new TypeError(`${names[k]}[${i}] is ${tensor}, its parameter ${parameter}`);
      }
    }
  },
};
