/** Keys of the page. */
import { useLayoutEffect } from 'preact/hooks';

/** What each key does, by `KeyboardEvent.key`; not while one types into a field. */
export function useKeys(keys: Readonly<Record<string, (() => void) | undefined>>): void {
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== 'Escape')) return;
      // A link or button that has the focus is what Enter is for.
      if (
        event.key === 'Enter' &&
        event.target instanceof Element &&
        event.target.matches('a, button, summary')
      )
        return;
      const act = keys[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  });
}
