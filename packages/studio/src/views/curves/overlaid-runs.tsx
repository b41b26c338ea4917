import type { RunCurves } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { joinIds } from '../../parts/run-ids.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { linkTo, setQuery } from '../../route.js';
import { LineSample } from './line-sample.js';

const nameOf = (id: string) => id.split('/').at(-1)!;

/** The run and those laid over it, each with its line; others may be added. */
export function OverlaidRuns({
  ids,
  loaded,
}: {
  ids: readonly string[];
  loaded: ReadonlyMap<string, RunCurves>;
}) {
  const runs = useAnswer('runs', {}).value ?? [];
  const put = (others: readonly string[]) => setQuery({ with: joinIds(others) });
  const left = runs.filter(({ id, problem }) => !ids.includes(id) && problem === undefined);
  return (
    <ul class="curves-runs">
      {ids.map((id, i) => (
        <li key={id}>
          {ids.length > 1 && <LineSample style={i} />}
          <a href={linkTo(['run', id])}>
            <SafeText text={loaded.get(id)?.entry.name ?? nameOf(id)} most={80} />
          </a>
          {i > 0 && (
            <button
              type="button"
              class="link"
              aria-label={`remove ${visible(nameOf(id))}`}
              onClick={() => put(ids.slice(1).filter((other) => other !== id))}
            >
              ✕
            </button>
          )}
        </li>
      ))}
      {left.length > 0 && (
        <li>
          <select
            aria-label="lay another run over this one"
            value=""
            onChange={({ currentTarget }) => put([...ids.slice(1), currentTarget.value])}
          >
            <option value="">overlay …</option>
            {left.map(({ id, name }) => (
              <option key={id} value={id}>
                {visible(name).slice(0, 80)}
              </option>
            ))}
          </select>
        </li>
      )}
    </ul>
  );
}
