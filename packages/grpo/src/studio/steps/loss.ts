import { UserError } from '../../errors/user-error.js';
import { sum } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { completionNames } from '../../view/completion-view.js';
import { betaOf } from '../../view/loss-rows.js';
import { replayRecord } from '../../view/replay-record.js';
import type { OpenRuns } from '../open-runs.js';
import type { LossAnswer, Requests } from '../requests.js';
import { bonusOf, type CompletionShares, completionShares, settingsOf } from './loss-shares.js';
import { headOf, partOf, recordOf } from './step-records.js';
import { replayOf, withTerms } from './with-terms.js';

const TERMS = ['policyTerms', 'klTerms', 'weights', 'klWeights'];

/** The loss of an update as a sum over groups and completions, as it was recorded and with other settings. */
export async function loss(runs: OpenRuns, input: Requests['loss']['input']): Promise<LossAnswer> {
  const { update: u = 0 } = input;
  const head = (await headOf(runs, input)).record;
  const updates = head.updates?.length ?? 0;
  if (u >= updates)
    throw new UserError(`step ${input.step} has no update ${u}`, {
      hint:
        updates > 0
          ? `Its updates are 0 to ${updates - 1}.`
          : 'Its record has texts and rewards alone: record.every=1 writes a full one of every step.',
    });
  const part = await partOf(
    runs,
    input,
    bonusOf(head, head.updates![u]!) === 0 ? TERMS : [...TERMS, 'entropies'],
  );
  const isWhole = part.updates![u]!.policyTerms && part.updates![u]!.weights;
  const { record, lack } = isWhole ? { record: part } : withTerms(await recordOf(runs, input));
  const update = record.updates![u]!;
  const settings = replayOf(input);
  const shares = completionShares(record, update);
  const components = componentsOf(record, update, shares);
  return {
    updates,
    update: u,
    settings: settingsOf(record, update),
    ...(update.loss !== undefined && { recorded: update.loss }),
    total: sum(components.map(({ value }) => value)),
    components,
    groups: groupsOf(record, shares ?? []),
    lacks:
      lack === undefined
        ? []
        : [`The share of each completion does not follow from the record: it lacks ${lack}.`],
    ...(settings && { hypothetical: hypotheticalOf(await recordOf(runs, input), u, settings) }),
  };
}

/** The loss with other settings, of the same completions and log-probs. @throws UserError where the record does not give it */
function hypotheticalOf(
  whole: StepRecord,
  u: number,
  settings: NonNullable<ReturnType<typeof replayOf>>,
): NonNullable<LossAnswer['hypothetical']> {
  const record = replayRecord(whole, settings);
  const update = record.updates![u]!;
  const shares = completionShares(record, update);
  const { clipLow, clipHigh } = settings.objective ?? {};
  return {
    total: sum(componentsOf(record, update, shares).map(({ value }) => value)),
    groups: groupsOf(record, shares ?? []),
    changed: {
      ...(clipLow !== undefined && { epsilonLow: clipLow }),
      ...(clipHigh !== undefined && { epsilonHigh: clipHigh }),
      ...(settings.kl?.beta !== undefined && { beta: settings.kl.beta }),
    },
  };
}

/** The parts of the loss: sums of what the completions add, and as recorded where they do not tell it. */
function componentsOf(
  record: StepRecord,
  update: UpdateRecord,
  shares: readonly CompletionShares[] | undefined,
): { name: string; value: number }[] {
  const recorded = (update.components ?? []).map(({ name, coefficient, value }) => ({
    name,
    value: coefficient * value,
  }));
  if (!shares) return recorded;
  const entropies = shares.flatMap(({ entropy }) => entropy ?? []);
  const summed = [
    { name: 'policy', value: sum(shares.map(({ policy }) => policy)) },
    ...(betaOf(record, update) === 0 ? [] : [{ name: 'kl', value: sum(shares.map(({ kl }) => kl)) }]),
    ...(entropies.length > 0 ? [{ name: 'entropy', value: sum(entropies) }] : []),
  ];
  const names = new Set(summed.map(({ name }) => name));
  return [...summed, ...recorded.filter(({ name, value }) => !names.has(name) && value !== 0)];
}

function groupsOf(record: StepRecord, shares: readonly CompletionShares[]): LossAnswer['groups'] {
  const promptOf = record.completions?.prompt;
  const names = completionNames(promptOf ?? shares.map(() => 0));
  const groups = new Map<number, LossAnswer['groups'][number]['completions'][number][]>();
  for (const own of shares) {
    const prompt = promptOf?.[own.index] ?? 0;
    groups.set(prompt, [...(groups.get(prompt) ?? []), { ...own, name: names[own.index]! }]);
  }
  return [...groups]
    .sort(([a], [b]) => a - b)
    .map(([prompt, completions]) => ({
      prompt,
      value: sum(completions.map(({ policy, kl, entropy = 0 }) => policy + kl + entropy)),
      completions: completions.sort((a, b) => a.index - b.index),
    }));
}
