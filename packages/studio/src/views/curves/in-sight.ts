import type { RefObject } from 'preact';
import { useEffect, useState } from 'preact/hooks';

const waiting: (() => void)[] = [];

/** Does one thing a frame: charts that come into sight at once would stall it. */
function inTurn(act: () => void): void {
  if (waiting.push(act) === 1) requestAnimationFrame(next);
}

function next(): void {
  waiting[0]!();
  waiting.shift();
  if (waiting.length > 0) requestAnimationFrame(next);
}

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
        inTurn(() => setState(({ wasInSight }) => ({ isInSight, wasInSight: wasInSight || isInSight })));
      },
      { rootMargin: '200px' },
    );
    watch.observe(place.current!);
    return () => watch.disconnect();
  }, [place]);
  return state;
}
