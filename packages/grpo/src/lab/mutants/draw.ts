/** Which mutants are tried, and in which order: drawn by the seed, evenly over stages and their files. */
import { permutation, uniform } from '../../maths/random.js';
import type { Executed } from './coverage.js';
import { type Mutation, mutationsOf } from './operators.js';
import type { Subject } from './subjects.js';

/** A mutation of a subject, and the configuration that it is tried in. */
export interface Mutant {
  /** Its place in the draw, from 0. */
  index: number;
  subject: Subject;
  mutation: Mutation;
  configuration: number;
}

/** Keys of the draws. */
const [BY_SITE, BY_FILE, BY_CONFIGURATION] = [1, 2, 3];

/**
 * All mutants of what is executed, in the order of the draw: a turn takes one of each stage, of its files in turn.
 *
 * @param executed - what each configuration executes
 */
export function drawMutants(
  subjects: readonly Subject[],
  executed: readonly Executed[],
  seed: number,
): Mutant[] {
  const sites = subjects.map((subject) =>
    mutationsOf(subject.text).flatMap((mutation) => {
      const runs = executed.flatMap((is, c) => (is(subject.url, mutation.start) ? [c] : []));
      return runs.length > 0 ? [{ subject, mutation, runs }] : [];
    }),
  );
  const files = sites.map((list, f) => permutation(list.length, seed, BY_SITE, f).map((i) => list[i]!));
  const stages = [...new Set(subjects.map((subject) => subject.stages[0]))];
  const queues = stages.map((stage, s) => {
    const own = files.filter((_, f) => subjects[f]!.stages[0] === stage);
    return inTurn(permutation(own.length, seed, BY_FILE, s).map((i) => own[i]!));
  });
  return inTurn(queues).map(({ subject, mutation, runs }, index) => ({
    index,
    subject,
    mutation,
    configuration: runs[Math.floor(uniform(seed, BY_CONFIGURATION, index) * runs.length)]!,
  }));
}

/** One of each list, then the second of each, and so on. */
function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, i) =>
    lists.flatMap((list) => (i < list.length ? [list[i]!] : [])),
  ).flat();
}
