import type { RunEntry } from 'grpo/studio';
import { useRef, useState } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { useKeys } from '../../parts/keys.js';
import { joinIds, splitIds } from '../../parts/run-ids.js';
import { SearchField } from '../../parts/search-field.js';
import { Answered } from '../../parts/status.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { go, linkToPlace, parseRoute, type Route, setQuery } from '../../route.js';
import { RunRow } from './run-row.js';
import { type Column, isAscending, orderText, parseOrder, sortRuns } from './sort-runs.js';
import './run-list.css';

export function RunListView({ query }: { query: Route['query'] }) {
  return (
    <Answered answer={useAnswer('runs', {})}>{(runs) => <RunList runs={runs} query={query} />}</Answered>
  );
}

const HEADS: readonly [Column, string][] = [
  ['name', 'run'],
  ['state', 'state'],
  ['step', 'steps'],
  ['reward', 'reward'],
  ['findings', 'findings'],
  ['modified', 'changed'],
];

function RunList({ runs, query }: { runs: readonly RunEntry[]; query: Route['query'] }) {
  const filter = query.filter ?? '';
  const order = parseOrder(query.sort);
  const shown = sortRuns(runs, order, filter);
  const existing = (text: string | undefined) =>
    splitIds(text).filter((id) => runs.some((run) => run.id === id));
  const picked = existing(query.pick);
  const pickedNow = () => existing(parseRoute(globalThis.location.hash).query.pick);
  // Keys come faster than the list is drawn: what they act on is read when they come.
  const at = useRef<string>(undefined);
  const [, redraw] = useState({});
  const place = () => shown.findIndex(({ id }) => id === at.current);
  const index = place();

  const pick = (id: string) => {
    const before = pickedNow();
    setQuery({
      pick: joinIds(before.includes(id) ? before.filter((other) => other !== id) : [...before, id]),
    });
  };
  const overlay = () => {
    const [first, ...others] = pickedNow();
    if (first !== undefined) go(linkToPlace({ run: first }, { with: joinIds(others) }));
  };
  const move = (by: number) => {
    const from = place();
    at.current = shown[Math.min(shown.length - 1, Math.max(0, from + (from < 0 ? 1 : by)))]?.id;
    redraw({});
  };
  const onPlace = (act: (id: string) => void) => () => {
    if (place() >= 0) act(at.current!);
  };
  useKeys({
    j: { does: 'next run', act: () => move(1) },
    k: { does: 'previous run', act: () => move(-1) },
    ArrowDown: { does: 'next run', act: () => move(1) },
    ArrowUp: { does: 'previous run', act: () => move(-1) },
    Enter: { does: 'open the run', act: onPlace((id) => go(linkToPlace({ run: id }))) },
    x: { does: 'pick the run', act: onPlace(pick) },
    o: { does: 'overlay the picked runs', act: () => pickedNow().length > 1 && overlay() },
  });

  if (runs.length === 0)
    return (
      <p>
        There is no run below the paths that were given. Drop a log or a folder at{' '}
        <a href="#/doctor">doctor</a>, or start with <code>grpo studio PATH…</code>
      </p>
    );
  return (
    <div class="run-list">
      <h1>Runs</h1>
      <div class="run-list-bar">
        <SearchField
          label="filter by name, kind, state"
          value={filter}
          onSearch={(text) => setQuery({ filter: text })}
        />
        <span class="soft" aria-live="polite">
          {shown.length === runs.length ? '' : `${shown.length} of `}
          {runs.length === 1 ? 'one run' : `${runs.length} runs`}
        </span>
        <button type="button" disabled={picked.length < 2} onClick={overlay}>
          overlay {picked.length < 2 ? 'two or more' : `${picked.length} runs`}
        </button>
        {picked.length > 0 && (
          <button type="button" class="link" onClick={() => setQuery({ pick: undefined })}>
            pick none
          </button>
        )}
        <span class="soft run-list-keys">
          <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open · <kbd>x</kbd> pick · <kbd>o</kbd> overlay
        </span>
      </div>
      <div class="run-list-heads run-list-columns">
        <span />
        {HEADS.map(([column, title]) => {
          const isOrder = order.column === column;
          const next = { column, isTurned: isOrder && !order.isTurned };
          return (
            <button
              type="button"
              key={column}
              class={`run-list-head run-list-${column}`}
              aria-pressed={isOrder}
              title={`sort by ${title}`}
              onClick={() => setQuery({ sort: orderText(next) })}
            >
              {title}
              {isOrder && (isAscending(order) ? ' ▲' : ' ▼')}
            </button>
          );
        })}
      </div>
      {shown.length === 0 ? (
        <p class="soft">No run has these words.</p>
      ) : (
        <VirtualList count={shown.length} estimate={38} at={index < 0 ? undefined : index} label="runs">
          {(i) => (
            <RunRow
              run={shown[i]!}
              isAt={i === index}
              isPicked={picked.includes(shown[i]!.id)}
              onPick={() => pick(shown[i]!.id)}
            />
          )}
        </VirtualList>
      )}
    </div>
  );
}
