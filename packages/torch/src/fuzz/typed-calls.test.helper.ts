import { boundOperators } from '../dispatch.js';
import * as torch from '../index.js';
import { operators } from '../ops/list.js';
import { parseSchema } from '../schema.js';
import { argumentsOf } from './arguments.test.helper.js';
import { fitting } from './fitting-calls.test.helper.js';
import type { World } from './world.test.helper.js';

/** A call that is about to be made. */
export interface Call {
  name: string;
  args: unknown[];
  run(): unknown;
  /** How the message of a refusal begins. */
  refusal?: string;
}

type Functions = Record<string, (...args: unknown[]) => unknown>;
const functions = torch as unknown as Functions;
const methods = torch.Tensor.prototype as unknown as Functions;

const schemas = new Map(boundOperators().map(({ name, schema }) => [name, parseSchema(schema)]));

/** The names of all typed operators. */
export const typedNames = Object.keys(operators);

/** A call of a typed operator, as a function or as a method. */
export function typedCall(world: World, name: string): Call {
  const operator = operators[name]![0];
  const args = fitting(world, name) ?? argumentsOf(world, schemas.get(operator)!);
  const asMethod = Object.hasOwn(methods, name) && world.random.chance(0.3);
  const run = asMethod
    ? () => methods[name]!.call(args[0] as object, ...args.slice(1))
    : () => functions[name]!(...args);
  return { name, args, run, refusal: `${operator}: ` };
}
