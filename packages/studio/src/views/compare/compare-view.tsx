/** Two steps, of one run or of two: the first difference of their records, and their completions of the same prompts. */
import type { StepAnswer } from 'grpo/studio';
import { useMemo } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { useKeys } from '../../parts/keys.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { linkToPlace, parseWhole, type Route, setQuery } from '../../route.js';
import './compare.css';
import { FirstDifference } from './first-difference.js';
import { PairCards, type Side } from './pair-row.js';
import { pairRows } from './pairs.js';
import { StepPicker } from './step-picker.js';

interface Place {
  run: string;
  step: number;
}

export function CompareView({ query }: { query: Route['query'] }) {
  const runs = useAnswer('runs', {});
  const here = placeIn(query.run, query.step);
  const there = placeIn(query.with, query.withStep);
  return (
    <>
      <h1>Compare two steps</h1>
      <div class="compare-pickers">
        <StepPicker
          label="here"
          runs={runs.value ?? []}
          run={query.run}
          step={here?.step}
          keys={{ run: 'run', step: 'step' }}
        />
        <StepPicker
          label="there"
          runs={runs.value ?? []}
          run={query.with}
          step={there?.step}
          keys={{ run: 'with', step: 'withStep' }}
        />
      </div>
      {here && there ? (
        <Comparison
          key={`${JSON.stringify(here)} ${JSON.stringify(there)}`}
          here={here}
          there={there}
          query={query}
        />
      ) : (
        <p class="soft">Choose a run and a recorded step on both sides.</p>
      )}
    </>
  );
}

function placeIn(run: string | undefined, stepText: string | undefined): Place | undefined {
  const step = parseWhole(stepText);
  return run !== undefined && step !== undefined ? { run, step } : undefined;
}

interface ComparisonProps {
  here: Place;
  there: Place;
  query: Route['query'];
}

function Comparison({ here, there, query }: ComparisonProps) {
  const [own, other] = [useAnswer('step', here), useAnswer('step', there)];
  return (
    <Answered answer={own}>
      {(a) => (
        <Answered answer={other}>
          {(b) => <Compared here={here} there={there} query={query} a={a} b={b} />}
        </Answered>
      )}
    </Answered>
  );
}

function Compared({ here, there, query, a, b }: ComparisonProps & { a: StepAnswer; b: StepAnswer }) {
  const { run, step } = here;
  const answer = useAnswer('compare', { run, step, otherRun: there.run, otherStep: there.step });
  const onlyDifferent = query.only === 'different';
  const rows = useMemo(
    () => pairRows(answer.value?.prompts ?? [], a.view, b.view, onlyDifferent),
    [answer.value, a, b, onlyDifferent],
  );
  const heads = rows.flatMap(({ kind }, i) => (kind === 'prompt' ? [i] : []));
  const at = parseWhole(query.at);
  const place = at === undefined ? -1 : heads.indexOf(at);
  const move = (by: number) => setQuery({ at: heads[Math.max(0, Math.min(heads.length - 1, place + by))] });
  useKeys({
    j: { does: 'next prompt', act: () => move(1) },
    k: { does: 'previous prompt', act: () => move(-1) },
  });
  const sides = { here: sideOf(here, a), there: sideOf(there, b) };
  return (
    <Answered answer={answer}>
      {({ comparison, prompts }) => (
        <>
          <FirstDifference
            comparison={comparison}
            isOpen={query.open === 'all'}
            onOpen={() => setQuery({ open: query.open === 'all' ? undefined : 'all' })}
          />
          {prompts.length === 0 ? (
            <p class="soft">
              The two steps have no prompt in common, so no completions can be put side by side.
            </p>
          ) : (
            <>
              <p>
                {prompts.length} prompt{prompts.length === 1 ? '' : 's'} in both, of {a.view.prompts.length}{' '}
                here and {b.view.prompts.length} there{' '}
                <button
                  type="button"
                  aria-pressed={onlyDifferent}
                  onClick={() => setQuery({ only: onlyDifferent ? undefined : 'different', at: undefined })}
                >
                  only what differs
                </button>
              </p>
              {rows.length === 0 && <p class="good">= every completion is the same, here and there</p>}
              <VirtualList
                label="completions here and there"
                count={rows.length}
                estimate={220}
                at={place < 0 ? undefined : at}
              >
                {(i) => {
                  const row = rows[i]!;
                  return row.kind === 'prompt' ? (
                    <h2 class="compare-prompt" aria-current={i === at ? 'true' : undefined}>
                      prompt {row.here} here, {row.there} there{' '}
                      <span class="mono compare-prompt-text">
                        <SafeText text={row.text} most={300} />
                      </span>{' '}
                      <span class="soft">
                        {row.different} of {row.pairs} differ
                      </span>
                    </h2>
                  ) : (
                    <PairCards {...row} sides={sides} />
                  );
                }}
              </VirtualList>
            </>
          )}
        </>
      )}
    </Answered>
  );
}

const sideOf = ({ run, step }: Place, answer: StepAnswer): Side => ({
  answer,
  linkOf: ({ index }) => linkToPlace({ run, step, completion: index }),
});
