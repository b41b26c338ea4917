import { type LabRun, labRun } from '../lab/lab-run.js';
import type { Comparison, HandOver } from '../trace/index.js';

/** What the audit of each step of a run of the lab compared. */
export async function comparisonsOf(run: LabRun): Promise<Comparison[]> {
  const { records } = await labRun(run);
  return records.flatMap(({ audit }) => audit!.comparisons);
}

/** The quantities of a hand-over, or of several, that disagree, each once. */
export async function disagreements(
  handOvers: HandOver | readonly HandOver[],
  run: LabRun,
): Promise<string[]> {
  const asked = [handOvers].flat();
  const own = (await comparisonsOf(run)).filter(({ handOver }) => asked.includes(handOver));
  const apart = own.filter(({ deviation, bound }) => !(deviation <= bound));
  return [...new Set(apart.map(({ quantity }) => quantity))];
}
