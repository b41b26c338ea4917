/** The groups of a step, a row each with its completions side by side; on a narrow page all below one another. */
import type { StepAnswer } from 'grpo/studio';
import { useMemo } from 'preact/hooks';
import { CardStrip } from '../../parts/card-strip.js';
import { useNarrow } from '../../parts/narrow.js';
import { type Completion, rewardsOf } from '../../parts/rewards-of.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { CompletionCard } from './completion-card.js';
import { GroupHead } from './group-head.js';
import type { Group } from './selection.js';
import { sharedEnd } from './shared-end.js';

interface GroupListProps {
  answer: StepAnswer;
  groups: readonly Group[];
  search: string;
  /** The marked completion. */
  at: number | undefined;
  isTall: boolean;
  /** Prompts whose shared beginning is shown. */
  opened: ReadonlySet<number>;
  linkOf(completion: Completion): string;
  onShared(prompt: number): void;
}

const CARD_WIDTH = 300;
/** Pixels of a line, and characters that it has room for. */
const LINE = 21;
const CHARACTERS = 34;

export function GroupList(props: GroupListProps) {
  const { answer, groups, search, at, isTall, opened, linkOf, onShared } = props;
  const isNarrow = useNarrow();
  const lines = useMemo(() => linesOf(answer), [answer]);
  const height = 92 + LINE * (lines.rewards + Math.min(isTall ? 22 : 6, lines.text));
  const sharedOf = ({ prompt, completions }: Group) =>
    completions.length > 1 ? sharedEnd(completions[0]!.text ?? '', answer.shared[prompt.index] ?? 0) : 0;
  // A run that was cut off has its last group in part, whether or not it declares the size.
  const size =
    answer.view.declared.rollout?.group ??
    answer.view.prompts.reduce((most, { completions }) => Math.max(most, completions), 0);
  const head = (group: Group) => (
    <GroupHead
      group={group}
      size={size}
      replayed={answer.replayed?.[group.prompt.index] ?? 0}
      shared={sharedOf(group)}
      isShared={opened.has(group.prompt.index)}
      onShared={() => onShared(group.prompt.index)}
    />
  );
  const card = (group: Group, completion: Completion) => (
    <CompletionCard
      completion={completion}
      rewards={rewardsOf(answer, completion)}
      link={linkOf(completion)}
      hidden={opened.has(group.prompt.index) ? 0 : sharedOf(group)}
      search={search}
      isCurrent={completion.index === at}
      isTall={isTall}
    />
  );
  if (isNarrow) {
    const rows = groups.flatMap((group) => [
      { group, completion: undefined },
      ...group.shown.map((completion) => ({ group, completion })),
    ]);
    const marked = rows.findIndex(({ completion }) => completion && completion.index === at);
    return (
      <VirtualList
        label="groups"
        class="step-groups"
        count={rows.length}
        estimate={height}
        at={marked < 0 ? undefined : marked}
      >
        {(i) => {
          const { group, completion } = rows[i]!;
          return completion ? card(group, completion) : head(group);
        }}
      </VirtualList>
    );
  }
  const placeOf = (group: Group) => group.shown.findIndex(({ index }) => index === at);
  const marked = groups.findIndex((group) => placeOf(group) >= 0);
  return (
    <VirtualList
      label="groups"
      class="step-groups"
      count={groups.length}
      estimate={height + 70}
      at={marked < 0 ? undefined : marked}
    >
      {(i) => {
        const group = groups[i]!;
        return (
          <div class="step-group">
            {head(group)}
            {group.completions.length === 0 ? (
              <p class="soft">This prompt has no completions.</p>
            ) : (
              <CardStrip
                label={`completions of prompt ${group.prompt.index}`}
                count={group.shown.length}
                width={CARD_WIDTH + 10}
                height={height + 16}
                at={i === marked ? placeOf(group) : undefined}
              >
                {(place) => card(group, group.shown[place]!)}
              </CardStrip>
            )}
          </div>
        );
      }}
    </VirtualList>
  );
}

/** Lines that a card may need: a line for each reward and one for a failure, and those of the longest text. */
function linesOf({ view, failures }: StepAnswer): { rewards: number; text: number } {
  const texts = view.completions.map(({ text = '' }) => text.slice(0, 2000));
  const most = texts.reduce(
    (lines, text) => Math.max(lines, text.length / CHARACTERS + text.split('\n').length),
    1,
  );
  return {
    rewards: Math.min(6, view.rewards.length + (failures.length > 0 ? 1 : 0)),
    text: Math.ceil(most) + 1,
  };
}
