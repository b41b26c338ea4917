import { useLayoutEffect, useState } from 'preact/hooks';

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const KEY = 'grpo-theme';

/** Colours are a matter of the reader: they stand in the browser, and not in the address that others get. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(themeKept);
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
  const choose = () => {
    setTheme(next);
    storage()?.setItem(KEY, next);
  };
  return (
    <button type="button" title={`colours: ${theme}; press for ${next}`} onClick={choose}>
      {theme}
    </button>
  );
}

const themeKept = (): Theme => THEMES.find((theme) => theme === storage()?.getItem(KEY)) ?? 'auto';

/** A browser that keeps nothing for a page forbids even to ask: a choice then lasts until the page is left. */
function storage(): Storage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    return undefined;
  }
}
