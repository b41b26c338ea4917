/** Canaries: completions whose right grade is known, sent through the production path of the rewards. */
import { AGAIN, type Probes } from '../../trace/index.js';
import { type Evidence, notApplicable, type Outcome, pass, warn } from '../outcome.js';

/** Share of the rows on which a canary may be graded wrongly by accident. */
const ACCIDENTS = 0.25;

export const SHARE = `on fewer than ${100 * ACCIDENTS} % of the rows`;
export const SETTLES =
  'grpo reward check with the task and the rewards of the run: it names the rule that let a completion through.';

/** The reward, and the rule by which it decided, where they are known. */
export const ruleText = (rule: string): string => (rule === '' ? '' : ` (${rule})`);

type Canary = NonNullable<Probes['canaries']>[number];

const isAgain = ({ kind }: Canary) => kind === AGAIN;

/** Whether equal completions of a row earned the same. */
export const judgePairing = (probes: Probes) =>
  judgeCanaries(
    probes,
    (canary) => isAgain(canary) && canary.value !== null,
    ({ value, least }) => value === least,
  );

/** Why canaries say nothing of a grader. */
const UNPAIRED = 'rewards that go to the completions that they were computed of (B21.pairing)';

/** The same of the canaries that tell what a grader pays; not asked where rewards go to other completions. */
export function judgeGrader(
  probes: Probes,
  asked: (canary: Canary) => boolean,
  holds: (canary: Canary) => boolean,
): ReturnType<typeof judgeCanaries> {
  return judgePairing(probes).verdict === 'warn'
    ? notApplicable(UNPAIRED)
    : judgeCanaries(probes, (canary) => !isAgain(canary) && asked(canary), holds);
}

/** Asks every canary of the rewards that `asked` names; the kinds that fail on too many rows are found. */
export function judgeCanaries(
  { canaries }: Probes,
  asked: (canary: Canary) => boolean,
  holds: (canary: Canary) => boolean,
): Outcome<{ probes: number; wrong: number; kinds: string; rule: string }> {
  const some = canaries?.filter(asked) ?? [];
  if (some.length === 0) return notApplicable('probes.canaries with known right values');
  const wrong = [...new Set(some.map(({ kind }) => kind))].flatMap((name) => {
    const own = some.filter(({ kind }) => kind === name);
    const failed = own.filter((canary) => !holds(canary));
    return failed.length > 0 && failed.length >= ACCIDENTS * own.length ? failed : [];
  });
  const kinds = new Set(wrong.map(({ kind }) => kind));
  const measured = {
    probes: some.length,
    wrong: wrong.length,
    kinds: [...kinds].join(', '),
    rule: wrong[0]?.rule ?? '',
  };
  const evidence = wrong.map(
    ({ kind, reward, value, least, most, rule }): Evidence => ({
      text: kind,
      values: {
        reward,
        value: value ?? 'none',
        ...(least !== undefined && { least }),
        ...(most !== undefined && { most }),
        ...(rule !== undefined && { rule }),
      },
    }),
  );
  return wrong.length > 0 ? warn(measured, evidence) : pass(measured);
}
