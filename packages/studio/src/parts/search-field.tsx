/** A field that filters what is shown: `/` leads into it, Enter and Escape lead out of it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { useKeys } from './keys.js';

interface SearchFieldProps {
  label: string;
  value: string;
  onSearch(text: string): void;
}

/** A long list takes too long to filter at each letter. */
const PAUSE_MS = 250;

export function SearchField({ label, value, onSearch }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  useKeys({ '/': { does: label, act: () => field.current?.focus() } });
  return (
    <input
      ref={field}
      type="search"
      placeholder={`${label} ( / )`}
      aria-label={label}
      value={typed}
      onInput={({ currentTarget: { value: text } }) => {
        setTyped(text);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onSearch(text), PAUSE_MS);
      }}
      onKeyDown={({ key, currentTarget }) => {
        if (key === 'Escape' || key === 'Enter') currentTarget.blur();
      }}
    />
  );
}
