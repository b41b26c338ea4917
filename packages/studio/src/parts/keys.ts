/** Keys of the page, each with words for the help. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface Key {
  /** Words of the help. */
  does: string;
  /** Undefined while the key has no effect here, or where the element in focus hears it itself. */
  act?: (() => void) | undefined;
}

/** By `KeyboardEvent.key`. */
type Keys = Readonly<Record<string, Key>>;

/** The keys of all views on the page. */
const shown = new Set<{ readonly current: Keys }>();
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Fields that letters are typed into. */
const FIELDS = 'input:not([type="checkbox"], [type="range"]), textarea, select';

/** Listens for keys while the view is shown, except while a field is typed into, and adds them to the help. */
export function useKeys(keys: Keys): void {
  const own = useRef(keys);
  own.current = keys;
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const { key, target } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || !(target instanceof Element)) return;
      if (target.matches(FIELDS)) return;
      // A link or button that has the focus is what Enter is for.
      if (key === 'Enter' && target.matches('a, button, summary')) return;
      const act = Object.hasOwn(own.current, key) ? own.current[key]!.act : undefined;
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', pressed);
    shown.add(own);
    tell();
    return () => {
      document.removeEventListener('keydown', pressed);
      shown.delete(own);
      tell();
    };
  }, []);
}

/** The keys that now have an effect, with their words. */
export function useShownKeys(): readonly (readonly [key: string, does: string])[] {
  const [, redraw] = useState({});
  useEffect(() => {
    const changed = () => redraw({});
    listeners.add(changed);
    return () => void listeners.delete(changed);
  }, []);
  return [...shown]
    .flatMap(({ current }) => Object.entries(current).map(([key, { does }]) => [key, does] as const))
    .sort(([a], [b]) => a.localeCompare(b, 'en'));
}
