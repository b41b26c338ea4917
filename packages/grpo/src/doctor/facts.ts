/** The facts of a check in the catalogue, as rows. */
import type { Check } from './check.js';
import { inputs } from './inputs.js';
import type { Source } from './source.js';

const SCOPES: Readonly<Record<Check['scope'], string>> = {
  step: 'one step record',
  run: 'several step records',
  log: 'a log of metrics',
};

/** How names of inputs and sources are written. */
export interface Notation {
  input(name: string): string;
  source(source: Source): string;
}

const PLAIN: Notation = { input: (name) => name, source: (source) => source };

/** Names and texts of a check: what it needs, its test, what to do, where it can be read, and how it was proved. */
export function factsOf(check: Check, { input, source } = PLAIN): [name: string, text: string][] {
  const { kind, stage, scope, consequence, why, settles } = check;
  const needed =
    check.scope === 'log' ? check.needs.map(input) : check.needs.map((name) => input(inputs[name].path));
  if (check.scope === 'log' && check.exactLogprobs) needed.push('log-probs that are not estimates');
  return [
    ['kind', `${kind} · ${stage} · ${SCOPES[scope]}`],
    ['needs', needed.join(', ') || 'see the test'],
    ['test', check.threshold],
    ['source', check.sources.map(source).join(', ') || 'no public source'],
    ...(why ? [['why', why] as [string, string]] : []),
    ['remedy', check.remedy],
    ['run again', `${consequence.rerun}${consequence.checkpointsVoid ? '; checkpoints are void' : ''}`],
    ...(settles ? [['to be sure', settles] as [string, string]] : []),
    ['proved with', check.proofs.join(', ') || 'not yet'],
  ];
}
