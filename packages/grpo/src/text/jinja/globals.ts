import { CallArguments } from './call-arguments.js';
import { strftime } from './strftime.js';
import { Callable, type Dict, int, Namespace, type Value, View } from './values.js';

/** Jinja's sandbox allows no longer range. */
const LONGEST_RANGE = 100_000;

/** The functions that every template has. */
export const globalsAt = (now: Date): readonly Callable[] => [
  new Callable('namespace', (args, keywords) => new Namespace(pairs('namespace', args, keywords))),
  new Callable('dict', (args, keywords) => pairs('dict', args, keywords)),
  new Callable('range', (args, keywords) => {
    const names = args.length === 1 ? ['stop'] : ['start', 'stop', 'step'];
    const given = new CallArguments('range', names, args, keywords);
    return range(given.int('start', 0), given.int('stop'), given.int('step', 1));
  }),
  new Callable('raise_exception', (args, keywords) => {
    throw new Error(new CallArguments('raise_exception', ['message'], args, keywords).text('message'));
  }),
  new Callable('strftime_now', (args, keywords) => {
    return strftime(now, new CallArguments('strftime_now', ['format'], args, keywords).text('format'));
  }),
];

/** Names that mean something in Python and nothing here: they are refused, not undefined. */
export const MISSING_GLOBALS = new Set(['cycler', 'joiner', 'lipsum', 'self', 'super', 'varargs', 'kwargs']);

function pairs(owner: string, args: readonly Value[], keywords: ReadonlyMap<string, Value>): Dict {
  const [source = new Map(), ...more] = args;
  if (!(source instanceof Map) || more.length > 0) {
    throw new Error(`${owner} is supported with a dict and named arguments`);
  }
  return new Map([...source, ...keywords]);
}

function range(start: number, stop: number, step: number): View {
  if (step === 0) throw new Error('range: the step must not be 0');
  const count = Math.max(0, Math.ceil((stop - start) / step));
  if (count > LONGEST_RANGE) throw new Error(`range: more than ${LONGEST_RANGE} numbers`);
  return new View(
    Array.from({ length: count }, (_, i) => int(start + i * step)),
    true,
  );
}
