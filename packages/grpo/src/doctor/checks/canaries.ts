/** Rewards pay what is known to be right, and nothing that is known to be worthless. */
import { CANARY, type Probes, TOTAL } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { type Evidence, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { isFlat } from '../statistics.js';

/** Share of the rows on which a canary may be graded wrongly by accident. */
const ACCIDENTS = 0.25;

const SHARE = `on fewer than ${100 * ACCIDENTS} % of the rows`;
const SETTLES =
  'grpo reward check with the task and the rewards of the run: it names the rule that let a completion through.';

export const canaryChecks = [
  stepCheck({
    code: 'B20.canary',
    title: 'Right answers and worthless ones do not all earn the same',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold:
      'through the production path, not one total for three kinds of completions or more, a right answer among them; only informs where the task cannot tell that it is right',
    source: 'faults.md B20: a known-good and a known-bad completion in the type of the run must differ',
    remedy:
      'Call the reward by hand with a good and a bad completion, in the very type that training hands it.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B22', 'B23', 'B26', 'B27', 'B28', 'B30', 'B53'],
    settles: SETTLES,
    needs: ['probes'],
    test({ probes: { canaries = [] } }) {
      const known = canaries.filter(({ reward, value }) => reward === TOTAL && value !== null);
      const gold = known.filter(({ kind }) => kind === CANARY.gold);
      const kinds = new Set(known.map(({ kind }) => kind)).size;
      if (gold.length === 0 || kinds < 3)
        return notApplicable('probes.canaries with totals of a gold answer and of others');
      const measured = { probes: known.length, kinds, value: known[0]!.value! };
      if (!isFlat(known.map(({ value }) => value!))) return pass(measured);
      return gold.some(({ least }) => least !== undefined) ? warn(measured) : inform(measured);
    },
  }),
  stepCheck({
    code: 'B21.canary',
    title: 'The right answer of another row is not paid',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `through the production path, ${SHARE} above its declared most`,
    source: 'faults.md B21, B26: rewards of a row’s own must differ where rows are exchanged',
    remedy:
      'Look at which row the reward is given: order of prompts and rows, names of its fields, its use of them at all.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B20', 'B23', 'B26', 'B27', 'B28', 'B30'],
    settles: SETTLES,
    needs: ['probes'],
    test: ({ probes }) =>
      graded(
        probes,
        ({ kind, most, value }) => kind === CANARY.other && most !== undefined && value !== null,
        ({ value, most }) => value! <= most!,
      ),
  }),
  stepCheck({
    code: 'B22.canary',
    title: 'Answers that are known to be right can be graded',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `through the production path, ${SHARE} without a value because a reward failed`,
    source: 'proposal: what fails on right answers fails on the completions that matter most',
    remedy: 'Call the reward by hand with the gold answer of a row, and read its error.',
    consequence: { rerun: 'GRPO', checkpointsVoid: false },
    induces: ['B23', 'B26', 'B27', 'B30'],
    settles: SETTLES,
    needs: ['probes'],
    test: ({ probes }) =>
      graded(
        probes,
        ({ least }) => least !== undefined,
        ({ value }) => value !== null,
      ),
  }),
  stepCheck({
    code: 'B23.canary',
    title: 'Answers that are known to be right are graded as right',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `through the production path, ${SHARE} below the declared least`,
    source: 'verl#5635, trl#5281: a time-out off the main thread makes every grade 0',
    remedy:
      'Run the probe through the same worker by hand and read its error; look at time-outs, threads and types.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B20', 'B22', 'B27', 'B28', 'B30'],
    settles: SETTLES,
    needs: ['probes'],
    test: ({ probes }) =>
      graded(
        probes,
        ({ least, value }) => least !== undefined && value !== null,
        ({ value, least }) => value! >= least!,
      ),
  }),
  stepCheck({
    code: 'B26.canary',
    title: 'Answers that are known to be worthless are not paid',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold: `through the production path, ${SHARE} above the declared most`,
    source: 'Visual-RFT#79: an empty answer is in every text, so it was right',
    remedy: 'Close the hole: the policy will find it.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    settles: SETTLES,
    needs: ['probes'],
    test: ({ probes }) =>
      graded(
        probes,
        ({ kind, most, value }) => kind !== CANARY.other && most !== undefined && value !== null,
        ({ value, most }) => value! <= most!,
      ),
  }),
];

type Canary = NonNullable<Probes['canaries']>[number];

/** Asks every canary of the rewards that `asked` names; the kinds that fail on too many rows are found. */
function graded(
  { canaries }: Probes,
  asked: (canary: Canary) => boolean,
  holds: (canary: Canary) => boolean,
): Outcome {
  const some = canaries?.filter(asked) ?? [];
  if (some.length === 0) return notApplicable('probes.canaries with the values that are right');
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
