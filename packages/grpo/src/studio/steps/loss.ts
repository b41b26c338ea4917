import { UserError } from '../../errors/user-error.js';
import { sum } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { completionNames } from '../../view/completion-view.js';
import { betaOf } from '../../view/loss-rows.js';
import type { ReplaySettings } from '../../view/replay-settings.js';
import type { OpenRuns } from '../open-runs.js';
import type { LossAnswer, Requests } from '../requests.js';
import { bonusOf, type CompletionShares, completionShares, settingsOf } from './loss-shares.js';
import { headOf, partOf, type StepPlace } from './step-records.js';
import { inParts, trainedRows } from './trained-rows.js';
import { replayOf } from './with-terms.js';

const TERMS = ['policyTerms', 'klTerms', 'weights', 'klWeights'];

/** The loss of an update as a sum over groups and completions, as it was recorded and with other settings. */
export async function loss(runs: OpenRuns, input: Requests['loss']['input']): Promise<LossAnswer> {
  const { update: u = 0 } = input;
  const { record: head } = await headOf(runs, input);
  const updates = head.updates?.length ?? 0;
  const update = head.updates?.[u];
  if (!update)
    throw new UserError(`step ${input.step} has no update ${u}`, {
      hint:
        updates > 0
          ? `Its updates are 0 to ${updates - 1}.`
          : 'Its record has texts and rewards alone. A run of ours writes full ones with record.every; the recorders for TRL and PyTorch write them, too.',
    });
  const { shares, lack } = await recordedShares(runs, input, u, update);
  const components = componentsOf(update, betaOf(head, update), shares);
  const settings = replayOf(input);
  return {
    updates,
    update: u,
    settings: settingsOf(head, update),
    ...(update.loss !== undefined && { recorded: update.loss }),
    total: sum(components.map(({ value }) => value)),
    components,
    groups: groupsOf(head, shares ?? []),
    lacks:
      lack === undefined
        ? []
        : [`The share of each completion does not follow from the record: it lacks ${lack}.`],
    ...(settings && { hypothetical: await hypotheticalOf(runs, input, head, u, settings) }),
  };
}

interface Shares {
  shares: CompletionShares[] | undefined;
  lack?: string | undefined;
}

/** From the terms that were recorded, or else from what follows for them. */
async function recordedShares(
  runs: OpenRuns,
  at: StepPlace,
  u: number,
  update: UpdateRecord,
): Promise<Shares> {
  const { record: head } = await headOf(runs, at);
  const part = await partOf(runs, at, bonusOf(head, update) === 0 ? TERMS : [...TERMS, 'entropies']);
  const shares = completionShares(part, part.updates![u]!);
  return shares ? { shares } : sharesInParts(runs, at, u);
}

/** The loss with other settings, of the same completions and log-probs. @throws UserError where the record does not give it */
async function hypotheticalOf(
  runs: OpenRuns,
  at: StepPlace,
  head: StepRecord,
  u: number,
  settings: ReplaySettings,
): Promise<NonNullable<LossAnswer['hypothetical']>> {
  const { shares = [] } = await sharesInParts(runs, at, u, settings);
  const groups = groupsOf(head, shares);
  const { clipLow, clipHigh } = settings.objective ?? {};
  return {
    total: sum(groups.map(({ value }) => value)),
    groups,
    changed: {
      ...(clipLow !== undefined && { epsilonLow: clipLow }),
      ...(clipHigh !== undefined && { epsilonHigh: clipHigh }),
      ...(settings.kl?.beta !== undefined && { beta: settings.kl.beta }),
    },
  };
}

/** Shares of the completions, of terms that are computed anew. */
async function sharesInParts(
  runs: OpenRuns,
  at: StepPlace,
  u: number,
  settings?: ReplaySettings,
): Promise<Shares> {
  const shares: CompletionShares[] = [];
  for await (const own of inParts(runs, at, u)) {
    const rows = trainedRows(own, u, settings)!;
    const some = completionShares(rows.record, rows.update, rows.members, rows.entropyWeights);
    if (!some) return { shares: undefined, lack: rows.lack };
    shares.push(...some);
  }
  return { shares };
}

/** The parts of the loss: sums of what the completions add, and as recorded where they do not tell it. */
function componentsOf(
  update: UpdateRecord,
  beta: number,
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
    ...(beta === 0 ? [] : [{ name: 'kl', value: sum(shares.map(({ kl }) => kl)) }]),
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
