import { createTwoFilesPatch, OMIT_HEADERS } from 'diff';
import { KNOWN_CODE, KNOWN_DEFAULTS } from './known-differences.js';
import type { TrlTree } from './trl-tree.js';

/** Differences of two versions of TRL in the code and the defaults that make a step's numbers. */
export interface TrlDifferences {
  a: string;
  b: string;
  /** Null where a version has no such setting. */
  defaults: { name: string; a: string | null; b: string | null; known?: string }[];
  /** Number of functions that differ in comments at most. */
  alike: number;
  functions: FunctionDifference[];
  /** Notes on code that only one version has. */
  known: { in: 'a' | 'b'; says: string }[];
}

/** A function that differs, or that only one version has. */
interface FunctionDifference {
  /** Both names if it was renamed. */
  name: string;
  in: 'both' | 'a' | 'b';
  added: number;
  removed: number;
  /** Unified diff without comments; empty for a function that only one version has. */
  patch: string;
}

export function compareTrl(a: TrlTree, b: TrlTree): TrlDifferences {
  const pairs = pairedNames(a, b);
  const functions = pairs.flatMap(([nameA, nameB]): FunctionDifference[] => {
    const [codeA, codeB] = [a.code.get(nameA ?? ''), b.code.get(nameB ?? '')];
    if (codeA === codeB) return [];
    const name = nameA === nameB ? nameA! : [nameA, nameB].filter(Boolean).join(' → ');
    const linesOf = (code = '') => code.trimEnd().split('\n').length;
    if (codeA === undefined) return [{ name, in: 'b', added: linesOf(codeB), removed: 0, patch: '' }];
    if (codeB === undefined) return [{ name, in: 'a', added: 0, removed: linesOf(codeA), patch: '' }];
    const patch = createTwoFilesPatch('a', 'b', codeA, codeB, '', '', {
      context: 3,
      headerOptions: OMIT_HEADERS,
    });
    const count = (sign: string) => patch.split('\n').filter((line) => line.startsWith(sign)).length;
    return [{ name, in: 'both', added: count('+'), removed: count('-'), patch }];
  });
  return {
    a: a.name,
    b: b.name,
    defaults: defaultDifferences(a, b),
    alike: pairs.length - functions.length,
    functions,
    known: knownOf(a, b),
  };
}

function defaultDifferences(a: TrlTree, b: TrlTree): TrlDifferences['defaults'] {
  const names = [...new Set([...a.defaults.keys(), ...b.defaults.keys()])];
  return names
    .map((name) => ({
      name,
      a: a.defaults.get(name) ?? null,
      b: b.defaults.get(name) ?? null,
      ...(KNOWN_DEFAULTS[name] !== undefined && { known: KNOWN_DEFAULTS[name] }),
    }))
    .filter((own) => own.a !== own.b);
}

/** Names of functions, each with its own in the other version: the same, or one that goes on where it ends. */
function pairedNames(a: TrlTree, b: TrlTree): [string | undefined, string | undefined][] {
  const [namesA, namesB] = [[...a.code.keys()], [...b.code.keys()]];
  const gone = namesA.filter((name) => !b.code.has(name));
  const fresh = namesB.filter((name) => !a.code.has(name));
  const renamed = new Map(
    gone.flatMap((name): [string, string][] => {
      const heirs = fresh.filter((other) => other.startsWith(name) || name.startsWith(other));
      return heirs.length === 1 ? [[name, heirs[0]!]] : [];
    }),
  );
  const heirs = new Set(renamed.values());
  return [
    ...namesA.map((name): [string, string | undefined] => [
      name,
      b.code.has(name) ? name : renamed.get(name),
    ]),
    ...fresh.filter((name) => !heirs.has(name)).map((name): [undefined, string] => [undefined, name]),
  ];
}

function knownOf(a: TrlTree, b: TrlTree): TrlDifferences['known'] {
  const [textA, textB] = [a, b].map(({ code }) => [...code.values()].join('\n'));
  return KNOWN_CODE.flatMap(({ code, says }): TrlDifferences['known'] => {
    const [inA, inB] = [code.test(textA!), code.test(textB!)];
    return inA === inB ? [] : [{ in: inA ? 'a' : 'b', says }];
  });
}
