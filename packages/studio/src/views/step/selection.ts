/** The completions of a step that are shown, and their order, as the page's address has them. */
import type { StepAnswer } from 'grpo/studio';
import { type Completion, hasFailed, rewardsOf } from '../../parts/rewards-of.js';
import type { Route } from '../../route.js';
import type { Column } from './columns.js';

export const GROUP_FILTERS = ['signal', 'flat', 'failed', 'replayed'] as const;

export interface Selection {
  form: 'groups' | 'table';
  sort: string;
  isDescending: boolean;
  /** Bounds of the reward. */
  least?: number;
  most?: number;
  finish?: string;
  groups?: (typeof GROUP_FILTERS)[number];
  search: string;
}

export type Prompt = StepAnswer['view']['prompts'][number];

export interface Group {
  prompt: Prompt;
  /** All completions of the group, and those that fit the filters. */
  completions: readonly Completion[];
  shown: readonly Completion[];
}

export function selectionOf(query: Route['query']): Selection {
  const { form, sort = 'name', least, most, finish, groups, search = '' } = query;
  const filter = GROUP_FILTERS.find((one) => one === groups);
  return {
    form: form === 'table' ? 'table' : 'groups',
    sort: sort.replace(/^-/, ''),
    isDescending: sort.startsWith('-'),
    ...numberIn('least', least),
    ...numberIn('most', most),
    ...(finish !== undefined && { finish }),
    ...(filter && { groups: filter }),
    search,
  };
}

function numberIn<K extends 'least' | 'most'>(key: K, text: string | undefined): { [P in K]?: number } {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return (Number.isNaN(value) ? {} : { [key]: value }) as { [P in K]?: number };
}

export const isFiltered = ({ least, most, finish, groups, search }: Selection): boolean =>
  [least, most, finish, groups].some((one) => one !== undefined) || search !== '';

/** Whether a group moves the policy; undefined where the record cannot tell. */
export function hasSignal(completions: readonly Completion[]): boolean | undefined {
  const advantages = completions.flatMap(({ advantage }) => advantage ?? []);
  if (advantages.length > 0) return advantages.some((one) => one !== 0);
  const totals = completions.flatMap(({ total }) => total ?? []).filter((one) => !Number.isNaN(one));
  return totals.length === 0 ? undefined : totals.some((one) => one !== totals[0]);
}

function byPrompt(completions: readonly Completion[]): Map<number, Completion[]> {
  const groups = new Map<number, Completion[]>();
  for (const one of completions) {
    const group = groups.get(one.prompt);
    if (group) group.push(one);
    else groups.set(one.prompt, [one]);
  }
  return groups;
}

/** The completions that fit the filters, in the order that was chosen. */
export function selectCompletions(
  answer: StepAnswer,
  completions: readonly Completion[],
  columns: readonly Column[],
  selection: Selection,
): Completion[] {
  const { least = -Infinity, most = Infinity, finish, groups, search } = selection;
  const isRanged = selection.least !== undefined || selection.most !== undefined;
  const isIn = groups && groupFilter(answer, completions, groups);
  const pattern = search === '' ? undefined : searchPattern(search);
  const found = new Set(
    pattern
      ? answer.view.prompts.flatMap(({ index, text }) => (text && pattern.test(text) ? [index] : []))
      : [],
  );
  const selected = completions.filter(
    (one) =>
      (!isRanged || (one.total !== undefined && one.total >= least && one.total <= most)) &&
      (finish === undefined || one.finish === finish) &&
      (!isIn || isIn(one.prompt)) &&
      (!pattern || found.has(one.prompt) || pattern.test(one.text ?? '')),
  );
  const column = columns.find(({ key }) => key === selection.sort);
  return column ? sorted(selected, column, selection.isDescending) : selected;
}

/** Words of a search are taken as they are, upper and lower case alike. */
export const searchPattern = (search: string): RegExp =>
  new RegExp(search.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'iu');

function groupFilter(
  answer: StepAnswer,
  completions: readonly Completion[],
  filter: NonNullable<Selection['groups']>,
): (prompt: number) => boolean {
  if (filter === 'replayed') return (prompt) => (answer.replayed?.[prompt] ?? 0) > 0;
  const groups = byPrompt(completions);
  const fits: (group: readonly Completion[]) => boolean =
    filter === 'failed'
      ? (group) => group.some((one) => hasFailed(rewardsOf(answer, one)))
      : (group) => hasSignal(group) === (filter === 'signal');
  const prompts = new Set([...groups].flatMap(([prompt, group]) => (fits(group) ? [prompt] : [])));
  return (prompt) => prompts.has(prompt);
}

/** Missing values and NaN come last, whatever the direction. */
function sorted(completions: readonly Completion[], column: Column, isDescending: boolean): Completion[] {
  const sign = isDescending ? -1 : 1;
  const rows = completions.map((one) => ({ one, value: column.value(one) }));
  const isMissing = (value: unknown) => value === undefined || Number.isNaN(value);
  return rows
    .sort((a, b) => {
      const [aMissing, bMissing] = [isMissing(a.value), isMissing(b.value)];
      if (aMissing || bMissing) return Number(aMissing) - Number(bMissing);
      if (typeof a.value === 'number' && typeof b.value === 'number') return sign * (a.value - b.value);
      return sign * (String(a.value) < String(b.value) ? -1 : Number(a.value !== b.value));
    })
    .map(({ one }) => one);
}

/** Groups in the order of the first completion that each shows; those without completions where nothing is filtered. */
export function groupsOf(
  prompts: readonly Prompt[],
  completions: readonly Completion[],
  selected: readonly Completion[],
  selection: Selection,
): Group[] {
  const all = byPrompt(completions);
  const promptAt = new Map(prompts.map((prompt) => [prompt.index, prompt]));
  const groups = [...byPrompt(selected)].map(([index, shown]): Group => {
    const own = all.get(index)!;
    return { prompt: promptAt.get(index) ?? { index, completions: own.length }, completions: own, shown };
  });
  if (isFiltered(selection)) return groups;
  const empty = prompts.filter(({ index }) => !all.has(index));
  groups.push(...empty.map((prompt): Group => ({ prompt, completions: [], shown: [] })));
  if (selection.sort === 'name' && !selection.isDescending)
    groups.sort((a, b) => a.prompt.index - b.prompt.index);
  return groups;
}
