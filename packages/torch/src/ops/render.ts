import type { OperatorArgument, ResolvedOperator } from '../native.js';
import { operators } from './list.js';

/** Memory layout is libtorch's business: these arguments stay at their defaults. */
const hidden = new Set(['layout', 'pin_memory', 'memory_format', 'non_blocking', 'copy']);

const scalars: Record<string, string> = {
  Tensor: 'Tensor',
  int: 'number',
  SymInt: 'number',
  float: 'number',
  Scalar: 'Scalar',
  bool: 'boolean',
  ScalarType: 'DType',
  Device: 'string',
  str: 'string',
  Generator: 'Generator',
};

function typeOf(argument: OperatorArgument): string {
  const { name, type } = argument;
  if (type.endsWith('?')) return `${typeOf({ ...argument, type: type.slice(0, -1) })} | null`;
  const list = /^(.*)\[(\d*)\]$/.exec(type);
  if (list) {
    const element = typeOf({ ...argument, name: '', type: list[1]! });
    return `readonly ${element.includes('|') ? `(${element})` : element}[]`;
  }
  const known = scalars[type];
  if (!known) throw new Error(`no TypeScript type for ${type}`);
  // A number beside a tensor is promoted like a Python scalar.
  return type === 'Tensor' && name === 'other' ? 'Tensor | number' : known;
}

function resultOf(op: ResolvedOperator): string {
  const types = op.returns.map((type) => typeOf({ name: '', type, keywordOnly: false, optional: false }));
  if (types.length === 0) return 'void';
  return types.length === 1 ? types[0]!.replace('readonly ', '') : `[${types.join(', ')}]`;
}

const camel = (name: string) => name.replaceAll(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());

function parametersOf(args: OperatorArgument[]): string[] {
  const shown = args.filter((a) => !hidden.has(a.name));
  const options = shown.filter((a) => a.keywordOnly);
  const positional = shown.filter((a) => !a.keywordOnly);
  const parts = positional.map((a) => `${camel(a.name)}${a.optional ? '?' : ''}: ${typeOf(a)}`);
  if (options.length > 0) {
    const fields = options.map(
      (a) => `${a.name}${a.optional || a.type.endsWith('?') ? '?' : ''}: ${typeOf(a)}`,
    );
    parts.push(
      `options${options.every((a) => a.optional || a.type.endsWith('?')) ? '?' : ''}: { ${fields.join('; ')} }`,
    );
  }
  return parts;
}

/**
 * The text of `generated/ops.ts`: a typed function for each operator of the list, and methods for those whose first
 * argument is a tensor called self.
 *
 * @param resolve - an operator of the libtorch at hand by its full name
 * @param version - of that libtorch
 */
export function renderOperators(resolve: (name: string) => ResolvedOperator | null, version: string): string {
  const functions: string[] = [];
  const signatures: string[] = [];
  const methods: string[] = [];
  for (const [name, [operator, help]] of Object.entries(operators)) {
    const op = resolve(operator);
    if (!op) throw new Error(`libtorch ${version} has no operator ${operator}`);
    const parameters = parametersOf(op.arguments);
    const result = resultOf(op);
    const type = `(${parameters.join(', ')}) => ${result}`;
    functions.push(
      `/** ${help} \`${op.schema}\` */\nexport const ${name} = bind('${operator}', '${op.schema}') as ${type};`,
    );
    if (op.arguments[0]?.name === 'self' && op.arguments[0].type === 'Tensor') {
      signatures.push(`    /** ${help} */\n    ${name}(${parameters.slice(1).join(', ')}): ${result};`);
      methods.push(name);
    }
  }

  return `// Made by \`npm run ops\` from libtorch ${version}: edit ops/list.ts instead.
import type { DType } from '../dtype.js';
import { bind } from '../dispatch.js';
import type { Generator } from '../generator.js';
import { type Scalar, Tensor } from '../tensor.js';

${functions.join('\n\n')}

declare module '../tensor.js' {
  // Disposable is the class's own doing; TypeScript's incremental builds forget that where a class is augmented.
  interface Tensor extends Disposable {
${signatures.join('\n')}
  }
}

const methods = { ${methods.join(', ')} };
for (const [name, operator] of Object.entries(methods)) {
  const call = operator as (...args: unknown[]) => unknown;
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return call(this, ...args);
    },
  });
}
`;
}
