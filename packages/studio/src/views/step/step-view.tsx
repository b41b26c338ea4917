/** A step: its groups side by side, or its completions as a table. It is painted from the `step` request alone. */
import type { Requests, StepAnswer } from 'grpo/studio';
import { useMemo } from 'preact/hooks';
import { type Answer, useAnswer } from '../../client.js';
import { useKeys } from '../../parts/keys.js';
import { GapByPosition } from '../../parts/panels/gap-by-position.js';
import { WorstTokens } from '../../parts/panels/worst-tokens.js';
import type { Completion } from '../../parts/rewards-of.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import { go, linkToPlace, parseWhole, type Route, setQuery } from '../../route.js';
import { columnsOf } from './columns.js';
import { CompletionTable } from './completion-table.js';
import { FilterBar } from './filter-bar.js';
import { GroupList } from './group-list.js';
import { groupsOf, selectCompletions, selectionOf } from './selection.js';
import { StageTimeline } from './stage-timeline.js';
import './step.css';
import { wholeNumber } from '../../parts/numbers.js';
import { StepFindings } from './step-findings.js';
import { StepHead } from './step-head.js';

interface StepViewProps {
  run: string;
  step: number;
  query: Route['query'];
}

export function StepView(props: StepViewProps) {
  const answer = useAnswer('step', { run: props.run, step: props.step });
  return (
    <Answered answer={answer}>{(value) => <StepPage key={props.step} {...props} answer={value} />}</Answered>
  );
}

/** Tokens of a step that is judged without being asked: it takes a second or two. */
const MOST_JUDGED = 1_000_000;

function StepPage({ run, step, query, answer }: StepViewProps & { answer: StepAnswer }) {
  const curves = useAnswer('curves', { run });
  const tokens = answer.view.completions.reduce((sum, one) => sum + (one.tokens ?? 0), 0);
  const isJudged = tokens <= MOST_JUDGED || query.judge !== undefined;
  const whole = useAnswer('stepWhole', isJudged ? { run, step } : undefined);
  const open = new Set(query.open?.split(','));
  const toggle = (key: 'open' | 'shared', values: ReadonlySet<string>, one: string) => {
    const next = new Set(values);
    if (!next.delete(one)) next.add(one);
    setQuery({ [key]: [...next].join(',') });
  };
  return (
    <>
      <StepHead run={run} answer={answer} curves={curves.value} query={query} />
      <Notes answer={answer} notes={curves.value?.notes ?? []} />
      <StageTimeline
        stages={answer.view.stages}
        isOpen={open.has('stages')}
        onOpen={() => toggle('open', open, 'stages')}
      />
      {isJudged ? (
        <StepFindings run={run} step={step} answer={whole} />
      ) : (
        <p>
          <button type="button" onClick={() => setQuery({ judge: 'yes' })}>
            judge all {wholeNumber(tokens)} tokens
          </button>{' '}
          <span class="soft">which takes a while: sums over tokens and findings are not there before</span>
        </p>
      )}
      {answer.isWhole && (
        <TokenPanels run={run} step={step} open={open} onOpen={(one) => toggle('open', open, one)} />
      )}
      <Completions run={run} step={step} query={query} answer={answer} whole={whole} onShared={toggle} />
    </>
  );
}

interface TokenPanelsProps {
  run: string;
  step: number;
  open: ReadonlySet<string>;
  onOpen(one: string): void;
}

/** Panels over all tokens, which are computed only when they are opened. */
function TokenPanels({ run, step, open, onOpen }: TokenPanelsProps) {
  const fold = (key: string, title: string) => (
    <button type="button" class="link" aria-expanded={open.has(key)} onClick={() => onOpen(key)}>
      {open.has(key) ? '▾' : '▸'} {title}
    </button>
  );
  return (
    <>
      <p class="step-panels">
        {fold('worst', 'worst tokens')} {fold('gap', 'gap against position')}
      </p>
      {open.has('worst') && <WorstTokens run={run} step={step} />}
      {open.has('gap') && <GapByPosition run={run} step={step} />}
    </>
  );
}

/** Rewards that failed for the whole batch, and notes of the reader. */
function Notes({ answer: { failures }, notes }: { answer: StepAnswer; notes: readonly string[] }) {
  const whole = failures.filter(({ completion }) => completion === null);
  return (
    <>
      {whole.map(({ reward, reason }) => (
        <p key={reward} class="fail">
          ✕ <SafeText text={reward} most={60} /> failed for the whole step:{' '}
          <SafeText text={reason} most={400} />
        </p>
      ))}
      {notes.map((note) => (
        <p key={note} class="soft">
          <SafeText text={note} most={400} />
        </p>
      ))}
    </>
  );
}

interface CompletionsProps extends StepViewProps {
  answer: StepAnswer;
  whole: Answer<Requests['stepWhole']['output']>;
  onShared(key: 'shared', values: ReadonlySet<string>, one: string): void;
}

function Completions({ run, step, query, answer, whole, onShared }: CompletionsProps) {
  const completions = whole.value?.view.completions ?? answer.view.completions;
  const columns = useMemo(() => columnsOf(answer, completions), [answer, completions]);
  const { form: _, at: atText, shared: sharedText, text, ...rest } = query;
  const filters = JSON.stringify(rest);
  const selection = selectionOf(query);
  const { selected, groups } = useMemo(() => {
    const selected = selectCompletions(answer, completions, columns, selection);
    return { selected, groups: groupsOf(answer.view.prompts, completions, selected, selection) };
  }, [answer, completions, columns, filters]);
  const finishes = useMemo(
    () => [...new Set(completions.flatMap(({ finish }) => finish ?? []))].sort(),
    [completions],
  );
  const shown = selection.form === 'groups' ? groups.flatMap((group) => group.shown) : selected;
  const at = parseWhole(atText);
  const place = shown.findIndex(({ index }) => index === at);
  const linkOf = ({ index }: Completion) => linkToPlace({ run, step, completion: index });
  const move = (by: number) => {
    const next = shown[place < 0 ? 0 : Math.max(0, Math.min(shown.length - 1, place + by))];
    if (next) setQuery({ at: next.index });
  };
  useKeys({
    j: { does: 'next completion', act: () => move(1) },
    k: { does: 'previous completion', act: () => move(-1) },
    Enter: { does: 'open the completion', act: place < 0 ? undefined : () => go(linkOf(shown[place]!)) },
  });
  const shared = new Set(sharedText?.split(','));
  const count = `${wholeNumber(selected.length)} of ${wholeNumber(completions.length)} completions, ${groups.length} groups`;
  return (
    <>
      <FilterBar
        selection={selection}
        columns={columns}
        finishes={finishes}
        isTall={text === 'tall'}
        count={count}
      />
      {completions.length === 0 && answer.view.prompts.length === 0 ? (
        <p class="soft">The record of this step has no prompts and no completions.</p>
      ) : shown.length === 0 && groups.length === 0 ? (
        <p class="soft">No completion fits these filters.</p>
      ) : selection.form === 'table' ? (
        <CompletionTable
          columns={columns}
          completions={selected}
          selection={selection}
          at={at}
          linkOf={linkOf}
        />
      ) : (
        <GroupList
          answer={answer}
          groups={groups}
          search={selection.search}
          at={at}
          isTall={text === 'tall'}
          opened={new Set([...shared].map(Number))}
          linkOf={linkOf}
          onShared={(prompt) => onShared('shared', shared, String(prompt))}
        />
      )}
    </>
  );
}
