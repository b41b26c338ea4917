import type { RunReport } from 'grpo/studio';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ask } from '../../client.js';
import type { Failure } from '../../messages.js';

/** Judging a run may take seconds, in which nothing else is read: of a run that grows it is not done for each step. */
const REST_MS = 15_000;

export interface ReportAnswer {
  report?: RunReport;
  failure?: Failure;
  isPending: boolean;
}

/**
 * The findings of a run, asked for once its curves are painted, and again some time after they have changed.
 *
 * @param curves - what the findings are shown with; undefined before it is there
 */
export function useReport(run: string, curves: object | undefined): ReportAnswer {
  const [state, setState] = useState<ReportAnswer & { run?: string }>({ isPending: true });
  const asked = useRef<{ run?: string; time: number }>({ time: 0 });
  useEffect(() => {
    if (curves === undefined) return;
    const isNew = asked.current.run !== run;
    const rest = isNew ? 0 : Math.max(0, asked.current.time + REST_MS - performance.now());
    const judge = () => {
      asked.current = { run, time: performance.now() };
      setState((before) => ({ ...(before.run === run && before), run, isPending: true }));
      // Files that change meanwhile do not make the answer worthless.
      const put = (answer: ReportAnswer) => asked.current.run === run && setState({ run, ...answer });
      ask('report', { run }).then(
        (report) => put({ report, isPending: false }),
        (failure: Failure) => {
          // What was found before the server ended stays.
          setState((before) =>
            before.run !== run
              ? before
              : {
                  run,
                  ...(failure.isLost && before.report ? { report: before.report } : { failure }),
                  isPending: false,
                },
          );
        },
      );
    };
    // The second frame begins after the first is painted.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(judge, rest);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [run, curves]);
  return state.run === run ? state : { isPending: true };
}
