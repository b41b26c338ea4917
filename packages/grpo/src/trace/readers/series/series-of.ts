import { type Declared, declaredByBoth } from '../../declared.js';
import type { MetricSeries, MetricsEntry } from '../../series.js';
import { producerOf } from '../producers/index.js';
import { solvedGroups } from '../producers/producer.js';
import { commonName } from '../rows/metric-names.js';
import type { CollectedLog } from '../rows/run-collector.js';
import { MOST_ENTRIES } from '../rows/thinned-log.js';
import { lossDecimals } from './decimals.js';
import type { Hints } from './hints.js';
import { isPpo, OF_PPO, otherTraining, SUPERVISED, withoutSignals } from './other-training.js';
import { type Renaming, renamingOf } from './rename-metrics.js';
import { settingsIn, settingsMeaning } from './settings.js';

/** Shares that a log may have in place of the rest. */
const COMPLEMENTS = [
  ['completions/ended_ratio', 'completions/clipped_ratio'],
  ['groups/mixed_ratio', 'frac_reward_zero_std'],
] as const;

/** As much of a long command as is told. */
const MOST_OF_COMMAND = 300;

/** Collected metrics in common names, with what their numbers mean. */
export interface SeriesReading {
  series: MetricSeries;
  declared: Declared;
  isGrpo: boolean;
  notes: string[];
}

/** Renames the metrics, and finds out how they are to be read. */
export function seriesOf(collected: CollectedLog, hints: Hints = {}): SeriesReading {
  const producer = hints.producer ?? producerOf(collected.names);
  const renaming = renamingOf(producer, collected.entries, collected.decimals);
  // The settings tell how far apart entries without a step are.
  const apart = collected.counted ? hints.meaning?.stepsPerEntry : undefined;
  const entries = collected.entries.map(({ step, values, line }): MetricsEntry => {
    const renamed = renaming.rename(withoutEmptyRatios(values));
    producer.derive?.(renamed);
    solvedGroups(renamed);
    flatGroups(renamed);
    for (const [name, rest] of COMPLEMENTS) {
      const share = renamed[name];
      if (share === undefined) continue;
      delete renamed[name];
      renamed[rest] ??= 1 - share;
    }
    return { step: step * (apart ?? 1), values: renamed, ...(line !== undefined && { line }) };
  });
  takeOnlyFunction(entries);
  const ofPpo =
    isPpo(collected.names) &&
    ([...collected.names].some(isOfText) ||
      entries.some(({ values }) => values.reward !== undefined && values.entropy !== undefined));
  if (ofPpo) for (const { values } of entries) dropCompared(values);
  const stepsPerEntry = producer.averages ? averagedSteps(collected) : 1;
  const decimals = {
    ...(producer.averages && lossDecimals(entries)),
    ...Object.fromEntries(
      Object.entries(collected.decimals ?? {}).map(([name, count]) => [renaming.nameOf(name), count]),
    ),
  };
  const { lastStep } = collected;
  const series: MetricSeries = {
    entries,
    producer: { name: producer.name, ...(hints.version !== undefined && { version: hints.version }) },
    ...(stepsPerEntry !== undefined && { stepsPerEntry }),
    ...(lastStep !== undefined && { lastStep }),
    ...(collected.counted && { isCounted: true }),
    ...(ofPpo && { hasCritic: true }),
    ...(Object.keys(decimals).length > 0 && { decimals }),
    ...producer.meaning?.(entries),
    ...hints.meaning,
  };
  const inRows = settingsMeaning(settingsIn(entries)).declared;
  const declared = declaredByBoth(declaredByBoth(producer.declares?.(entries), inRows), hints.declared);
  const isGrpo = hints.isGrpo ?? (ofPpo || tellsOfGrpo(collected.names, entries, hints.names));
  return {
    series,
    declared,
    isGrpo,
    notes: isGrpo
      ? [...(ofPpo ? [OF_PPO] : []), ...takenNote(renaming), ...notesOf(collected, series)]
      : [hints.isGrpo === false ? SUPERVISED : withoutSignals(collected.names, hints.names)],
  };
}

/** How many steps an entry is the mean of, where the log tells. */
function averagedSteps({ counted, stride, entries }: CollectedLog): number | undefined {
  if (counted) return undefined;
  // The only entry, and of step 1: it cannot be the mean of more.
  return stride ?? (entries.length === 1 && entries[0]!.step === 1 ? 1 : undefined);
}

/** What was taken for what. */
function takenNote({ taken }: Renaming): string[] {
  const other = taken.filter(
    ([name, common]) => !common.startsWith('rewards/') && name.toLowerCase() !== common,
  );
  if (other.length === 0) return [];
  return [`Taken for metrics of GRPO: ${other.map(([name, common]) => `${name} as ${common}`).join(', ')}.`];
}

const GRPO =
  /^(eval_)?rewards?($|_std$|\/)|^completions\/|^frac_reward_zero_std$|^kl$|^clip_ratio|^sampling\/|^advantages\//;

/** Whether a metric is of tokens, or of DeepSpeed-Chat: a language model is trained. */
const isOfText = (name: string) => /eos|tokens|response|completion|^unsuper_loss$/i.test(name);

/** Metrics that mean another thing where a critic gives the advantages; the KL to the old policy does not. */
const COMPARED =
  /^(?!kl\/old$)(kl|loss|policy_loss|reward_std|frac_reward_zero_std|clip_ratio|ratio|advantages|groups)(\/|$)/;

function dropCompared(values: Record<string, number>): void {
  // What is no number is wrong on every scale.
  for (const [name, value] of Object.entries(values))
    if (COMPARED.test(name) && Number.isFinite(value)) delete values[name];
}

/** Matches how many groups a step has. */
const GROUPS_OF_STEP = /(?:^|\/)(?:n|num|total|number_of)_?groups$|(?:^|\/)groups(?:_(?:total|count))?$/i;

/** Turns a count of groups without a spread of rewards into their share, where the entry counts its groups, too. */
function flatGroups(values: Record<string, number>): void {
  const names = Object.keys(values);
  const flat = names.find((name) => commonName(name) === 'frac_reward_zero_std');
  const all = names.find((name) => GROUPS_OF_STEP.test(name));
  if (flat === undefined || flat === 'frac_reward_zero_std' || all === undefined) return;
  const [count, total] = [values[flat]!, values[all]!];
  if (count <= total && total > 0) values.frac_reward_zero_std ??= count / total;
}

/** Matches the mean of ratios of probabilities: none of them is 0. */
const RATIO_MEAN = /(?:^|[/ ])(?:(?:importance|\w*sampling|is|prob|policy)_)?ratio(?: ?[/_] ?)mean$/i;

/** Leaves out the ratios of an entry that has no token: their least, mean and largest are all 0. */
function withoutEmptyRatios(values: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const empty = Object.keys(values)
    .filter((name) => values[name] === 0 && RATIO_MEAN.test(name))
    .map((name) => ['mean', 'min', 'max'].map((part) => name.replace(/mean$/i, part)))
    .filter((family) => family.every((name) => values[name] === 0))
    .flat();
  return empty.length === 0
    ? values
    : Object.fromEntries(Object.entries(values).filter(([name]) => !empty.includes(name)));
}

/** A ratio may be of anything, unless a policy is trained. */
const OF_POLICY = /^ratio\//;
const POLICY = /^(policy_loss|entropy|kl\/old)$/;

/** What only GRPO or its relatives have, where other training has a reward, too. */
const GROUPS = /^(completions\/|frac_reward_zero_std$|kl$|rewards\/)/;

function tellsOfGrpo(names: ReadonlySet<string>, entries: MetricSeries['entries'], ofFile = names): boolean {
  const has = (pattern: RegExp) =>
    entries.some(({ values }) => Object.keys(values).some((name) => pattern.test(name)));
  if (otherTraining(names) !== undefined) return false;
  if (otherTraining(ofFile) !== undefined && !has(GROUPS)) return false;
  return has(GRPO) || (has(OF_POLICY) && has(POLICY));
}

function notesOf(
  collected: CollectedLog,
  { stepsPerEntry, rewardDeviation, entries, lastStep, command }: MetricSeries,
): string[] {
  const notes: string[] = [];
  if (command !== undefined) notes.push(`Command: ${command.slice(0, MOST_OF_COMMAND)}`);
  const reached = entries.at(-1)?.step ?? 0;
  if (lastStep !== undefined && reached + (stepsPerEntry ?? 1) <= lastStep)
    notes.push(`It ends at step ${reached} of ${lastStep}.`);
  const { counted, every, restarts, strays, unnumbered, repeated, averaged, rows } = collected;
  if (counted && stepsPerEntry === undefined)
    notes.push('The log has no step numbers: its entries are counted instead.');
  if (every > 1) {
    notes.push(
      `Of ${rows} rows every ${every}th was kept, and those with numbers that are not finite: ${entries.length} entries are at most about ${MOST_ENTRIES}.`,
    );
  }
  if (repeated > 0)
    notes.push(
      `${repeated === 1 ? '1 row repeats' : `${repeated} rows repeat`} the one before, as several ranks print them: each is counted once.`,
    );
  if (averaged > 0)
    notes.push(
      `${averaged === 1 ? '1 row has' : `${averaged} rows have`} the step of the row before: of a metric that both have the mean is taken.`,
    );
  const [first] = restarts;
  if (first)
    notes.push(
      `The steps go back from ${first.from} to ${first.to}${placesOf(first.line, restarts.length)}: the steps from there on were run again, and their first entries are left out.`,
    );
  if (unnumbered > 0)
    notes.push(
      `${unnumbered === 1 ? '1 row' : `${unnumbered} rows`} before the first numbered step ${unnumbered === 1 ? 'has' : 'have'} none: left out.`,
    );
  if (strays.length > 0)
    notes.push(
      `A row tells of an earlier step and none goes on from it${placesOf(strays[0], strays.length)}: what it tells is left out.`,
    );
  if (stepsPerEntry === undefined) {
    notes.push(
      'The log does not say how many steps an entry averages over: checks that need single steps are skipped.',
    );
  } else if (stepsPerEntry > 1) {
    const hasNorm = entries.some(({ values }) => values.grad_norm !== undefined);
    notes.push(
      `An entry averages over ${stepsPerEntry} steps${hasNorm ? ', but its grad_norm is that of the last one' : ', or shows one of them'}: checks that need single steps are skipped (set logging_steps=1).`,
    );
  }
  const hasDeviation = entries.some(({ values }) => values.reward_std !== undefined);
  if (hasDeviation && rewardDeviation === undefined) {
    notes.push(
      'reward_std is the mean over groups or the deviation of the whole batch, depending on the version, and the log does not say which.',
    );
  }
  return notes;
}

/** ` (line 61), and 2 times more` */
function placesOf(firstLine: number | undefined, count: number): string {
  const where = firstLine === undefined ? '' : ` (line ${firstLine})`;
  return count > 1 ? `${where}, and ${count === 2 ? 'once' : `${count - 1} times`} more` : where;
}

/** Takes the only reward function for the reward, where no entry has one. */
function takeOnlyFunction(entries: readonly MetricsEntry[]): void {
  const names = new Set(entries.flatMap(({ values }) => Object.keys(values)));
  const [only, more] = [...names].filter((name) => /^rewards\/[^/]+\/mean$/.test(name));
  if (names.has('reward') || only === undefined || more !== undefined) return;
  for (const { values } of entries) {
    const value = values[only];
    if (value !== undefined) (values as Record<string, number>).reward = value;
  }
}
