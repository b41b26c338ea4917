import { useEffect, useState } from 'preact/hooks';

const NARROW = '(max-width: 600px)';

/** Whether the page is as narrow as a telephone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const media = matchMedia(NARROW);
    const changed = () => setNarrow(media.matches);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, []);
  return isNarrow;
}
