/** Colours of the style sheet for drawing on a canvas. */
import { useEffect, useState } from 'preact/hooks';

/** Variables of the style sheet, as colours that a canvas takes. */
function coloursNow<N extends string>(names: readonly N[]): Record<N, string> {
  // A variable's own value is text such as `light-dark(…)`; only a property resolves it.
  const probe = document.body.appendChild(document.createElement('span'));
  const found = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return Object.fromEntries(found) as Record<N, string>;
}

/**
 * The colours of some variables of the style sheet; others when the theme changes.
 *
 * @param names - a constant list, without the two dashes
 */
export function useColours<N extends string>(names: readonly N[]): Record<N, string> {
  const [colours, setColours] = useState(() => coloursNow(names));
  useEffect(() => {
    const read = () =>
      setColours((before) => {
        const after = coloursNow(names);
        return names.every((name) => before[name] === after[name]) ? before : after;
      });
    read();
    const dark = globalThis.matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', read);
    const theme = new MutationObserver(read);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => {
      dark.removeEventListener('change', read);
      theme.disconnect();
    };
  }, [names]);
  return colours;
}
