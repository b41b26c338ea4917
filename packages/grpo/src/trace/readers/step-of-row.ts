/** How each row of a run's files begins. */
const STEP = /^\{"step": ?(\d+)[,}]/;

/** The step that a row of a run's files begins with: of a long file few rows need to be parsed. */
export function stepOfRow(begin: string): number | undefined {
  const step = STEP.exec(begin)?.[1];
  return step === undefined ? undefined : Number(step);
}
