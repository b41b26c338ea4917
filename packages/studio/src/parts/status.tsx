/** What stands where an answer is awaited or has failed. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../client.js';
import { SafeText } from './safe-text.js';

/** Shows an answer once it is there; before that that it is awaited, or why there is none. */
export function Answered<T>({
  answer,
  children,
}: {
  answer: Answer<T>;
  children: (value: T) => ComponentChildren;
}) {
  if (answer.value !== undefined) return <>{children(answer.value)}</>;
  if (answer.failure) {
    const { message, hint } = answer.failure;
    return (
      <div class="failure" role="alert">
        <p>
          <SafeText text={message} />
        </p>
        {hint !== undefined && (
          <p class="soft">
            <SafeText text={hint} />
          </p>
        )}
      </div>
    );
  }
  return <Waiting />;
}

function Waiting() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const start = performance.now();
    const timer = setInterval(() => setSeconds((performance.now() - start) / 1000), 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="soft" role="status">
      Reading{seconds >= 2 ? `, ${seconds.toFixed(0)} s` : ''} …
    </p>
  );
}
