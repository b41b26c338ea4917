import type { RunCurves } from 'grpo/studio';
import { useState } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { joinIds, lastName } from '../../parts/run-ids.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { linkToPlace, setQuery } from '../../route.js';
import { LineSample } from './line-sample.js';

/** The run and those laid over it, each with its line; others may be added. */
export function OverlaidRuns({
  ids,
  loaded,
}: {
  ids: readonly string[];
  loaded: ReadonlyMap<string, RunCurves>;
}) {
  const put = (others: readonly string[]) => setQuery({ with: joinIds(others) });
  return (
    <ul class="curves-runs">
      {ids.map((id, i) => (
        <li key={id}>
          {ids.length > 1 && <LineSample style={i} />}
          <a href={linkToPlace({ run: id })}>
            <SafeText text={loaded.get(id)?.entry.name ?? lastName(id)} most={80} />
          </a>
          {i > 0 && (
            <button
              type="button"
              class="link"
              aria-label={`remove ${visible(lastName(id))}`}
              onClick={() => put(ids.slice(1).filter((other) => other !== id))}
            >
              ✕
            </button>
          )}
        </li>
      ))}
      <li>
        <RunChooser without={ids} onChoose={(id) => put([...ids.slice(1), id])} />
      </li>
    </ul>
  );
}

/** Listing all runs may take seconds, in which nothing else is read: it is done when it is asked for. */
function RunChooser({ without, onChoose }: { without: readonly string[]; onChoose: (id: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { value: runs, failure } = useAnswer('runs', isOpen ? {} : undefined);
  if (!isOpen)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        overlay …
      </button>
    );
  if (failure) return <SafeText text={failure.message} most={200} />;
  if (!runs) return <span class="soft">Reading …</span>;
  const left = runs.filter(({ id, problem }) => !without.includes(id) && problem === undefined);
  if (left.length === 0) return <span class="soft">there is no other run</span>;
  return (
    <select
      aria-label="lay another run over this one"
      value=""
      onChange={({ currentTarget }) => {
        setOpen(false);
        onChoose(currentTarget.value);
      }}
    >
      <option value="">which run?</option>
      {left.map(({ id, name }) => (
        <option key={id} value={id}>
          {visible(name).slice(0, 80)}
        </option>
      ))}
    </select>
  );
}
