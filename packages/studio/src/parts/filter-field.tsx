import { useRef } from 'preact/hooks';
import { setQuery } from '../route.js';
import { useKeys } from './keys.js';

/** The field of what a view is filtered by, as the address has it; `/` leads to it. */
export function FilterField({ filter, label, hint }: { filter: string; label: string; hint: string }) {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => field.current?.focus() });
  return (
    <input
      ref={field}
      type="search"
      placeholder={hint}
      aria-label={label}
      value={filter}
      onInput={({ currentTarget }) => setQuery({ filter: currentTarget.value })}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' && event.key !== 'Enter') return;
        event.stopPropagation();
        event.currentTarget.blur();
      }}
    />
  );
}
