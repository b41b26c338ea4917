/** Form, order and filters of a step's completions, all of which stand in the page's address. */
import { useState } from 'preact/hooks';
import { finishWord } from '../../parts/finish-word.js';
import { useNarrow } from '../../parts/narrow.js';
import { visible } from '../../parts/safe-text.js';
import { SearchField } from '../../parts/search-field.js';
import { setQuery } from '../../route.js';
import type { Column } from './columns.js';
import { GROUP_FILTERS, isFiltered, type Selection } from './selection.js';

interface FilterBarProps {
  selection: Selection;
  columns: readonly Column[];
  /** Reasons why completions ended. */
  finishes: readonly string[];
  isTall: boolean;
  /** In words: how many completions are shown, of how many. */
  count: string;
}

const GROUPS: Readonly<Record<(typeof GROUP_FILTERS)[number], string>> = {
  signal: 'with signal',
  flat: 'without signal',
  failed: 'with a failed reward',
  replayed: 'replayed',
};

export function FilterBar({ selection, columns, finishes, isTall, count }: FilterBarProps) {
  const { form, sort, isDescending, least, most, finish, groups, search } = selection;
  const isGroups = form === 'groups';
  const isNarrow = useNarrow();
  const [isOpen, setOpen] = useState(isFiltered(selection));
  return (
    <search class="step-filters">
      <span>
        <button type="button" aria-pressed={isGroups} onClick={() => setQuery({ form: undefined })}>
          groups
        </button>{' '}
        <button type="button" aria-pressed={!isGroups} onClick={() => setQuery({ form: 'table' })}>
          table
        </button>{' '}
        {isGroups && (
          <button
            type="button"
            aria-pressed={isTall}
            onClick={() => setQuery({ text: isTall ? undefined : 'tall' })}
          >
            more text
          </button>
        )}
      </span>
      {isNarrow && (
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          order, filters
        </button>
      )}
      {(isOpen || !isNarrow) && (
        <>
          <label>
            sort{' '}
            <select
              value={sort}
              onChange={(event) => setQuery({ sort: (isDescending ? '-' : '') + event.currentTarget.value })}
            >
              {columns.map(({ key, title }) => (
                <option key={key} value={key}>
                  {visible(title)}
                </option>
              ))}
            </select>{' '}
            <button
              type="button"
              title="turn the order round"
              onClick={() => setQuery({ sort: isDescending ? sort : `-${sort}` })}
            >
              {isDescending ? '↓ falling' : '↑ rising'}
            </button>
          </label>
          <span>
            reward <NumberField name="least" value={least} label="least reward" /> to{' '}
            <NumberField name="most" value={most} label="largest reward" />
          </span>
          <label>
            end{' '}
            <select
              value={finish ?? ''}
              onChange={(event) => setQuery({ finish: event.currentTarget.value })}
            >
              <option value="">any</option>
              {finishes.map((one) => (
                <option key={one} value={one}>
                  {finishWord(one)}
                </option>
              ))}
            </select>
          </label>
          <label>
            groups{' '}
            <select
              value={groups ?? ''}
              onChange={(event) => setQuery({ groups: event.currentTarget.value })}
            >
              <option value="">all</option>
              {GROUP_FILTERS.map((one) => (
                <option key={one} value={one}>
                  {GROUPS[one]}
                </option>
              ))}
            </select>
          </label>
          <SearchField
            label="search the texts"
            value={search}
            onSearch={(text) => setQuery({ search: text })}
          />
        </>
      )}
      <span class="soft" aria-live="polite">
        {count}
        {isFiltered(selection) && (
          <>
            {' · '}
            <button
              type="button"
              class="link"
              onClick={() =>
                setQuery({
                  least: undefined,
                  most: undefined,
                  finish: undefined,
                  groups: undefined,
                  search: undefined,
                })
              }
            >
              show all
            </button>
          </>
        )}
      </span>
    </search>
  );
}

const NumberField = ({ name, value, label }: { name: string; value: number | undefined; label: string }) => (
  <input
    type="text"
    inputMode="decimal"
    size={5}
    aria-label={label}
    value={value ?? ''}
    onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
  />
);
