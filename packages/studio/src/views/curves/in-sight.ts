import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Whether an element is in sight or nearly so, and whether it ever was. */
export function useInSight(place: RefObject<HTMLElement | null>): {
  isInSight: boolean;
  wasInSight: boolean;
} {
  const [state, setState] = useState({ isInSight: false, wasInSight: false });
  useEffect(() => {
    const watch = new IntersectionObserver(
      (entries) => {
        const isInSight = entries.at(-1)!.isIntersecting;
        setState(({ wasInSight }) => ({ isInSight, wasInSight: wasInSight || isInSight }));
      },
      { rootMargin: '200px' },
    );
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, [place]);
  return state;
}
