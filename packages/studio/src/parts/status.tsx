/** The answer, or in its place that it is awaited or why it failed. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { type Answer, onReading } from '../client.js';
import type { Failure, ReadProgress } from '../messages.js';
import { lastName } from './run-ids.js';
import { SafeText } from './safe-text.js';

/** Shows an answer once it is there; until then that it is awaited, or why there is none. */
export function Answered<T>({
  answer,
  children,
}: {
  answer: Answer<T>;
  children: (value: T) => ComponentChildren;
}) {
  if (answer.value !== undefined) return <>{children(answer.value)}</>;
  return answer.failure ? <FailureBox failure={answer.failure} /> : <Waiting />;
}

/** The failure, and what to do about it. */
export const FailureBox = ({ failure: { message, hint } }: { failure: Failure }) => (
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

export function Waiting() {
  const [seconds, setSeconds] = useState(0);
  const [progress, setProgress] = useState<ReadProgress>();
  useEffect(() => {
    const start = performance.now();
    const timer = setInterval(() => setSeconds((performance.now() - start) / 1000), 500);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => onReading(setProgress), []);
  return (
    <p class="waiting soft" role="status">
      Reading{seconds >= 2 ? `, ${seconds.toFixed(0)} s` : ''}
      {progress && (
        <>
          : <SafeText text={lastName(progress.path)} most={60} />, {megabytes(progress.done)} of{' '}
          {megabytes(progress.total)} MB
        </>
      )}{' '}
      …
    </p>
  );
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0);
