/** The doctor as a page: dropped files are read and judged in this browser, and go nowhere. */
import { useRef, useState } from 'preact/hooks';
import { ask, useFiles } from '../../client.js';
import type { Failure } from '../../messages.js';
import { FailureBox, Waiting } from '../../parts/status.js';
import { go, linkTo, linkToPlace } from '../../route.js';
import { type DroppedFile, filesOfDrop, filesOfPicker } from './dropped-files.js';
import { DroppedRuns } from './dropped-runs.js';
import { useDrop } from './use-drop.js';
import './doctor.css';

/**
 * @param isDropped - whether the files of the page are dropped ones
 * @param onDropped - told when they are
 */
export function DoctorView({ isDropped, onDropped }: { isDropped: boolean; onDropped(): void }) {
  const [failure, setFailure] = useState<Failure>();
  const [isReading, setReading] = useState(false);
  const take = async (dropped: Promise<readonly DroppedFile[]>) => {
    setFailure(undefined);
    setReading(true);
    try {
      const place = await readDropped(await dropped);
      onDropped();
      go(place);
    } catch (error) {
      setFailure(error as Failure);
    } finally {
      setReading(false);
    }
  };
  const isOver = useDrop((transfer) => void take(filesOfDrop(transfer)));
  return (
    <div class={`doctor ${isOver ? 'doctor-over' : ''}`}>
      <h1>What is wrong with this run?</h1>
      <p>
        Drop a log, a notebook, a step record, or a folder of a run here: of grpo, TRL, verl, or whatever
        prints its metrics.
      </p>
      <p class="doctor-pickers">
        <Picker label="Choose files" take={take} />
        <Picker label="Choose a folder" isFolder take={take} />
      </p>
      <p class="soft">
        It is read and judged in this browser. Nothing is sent anywhere: this page can reach{' '}
        {globalThis.location.protocol.startsWith('http')
          ? 'no address but the one it came from'
          : 'no address'}
        .
      </p>
      {isReading && <Waiting />}
      {failure && <FailureBox failure={failure} />}
      {isDropped && !isReading && <DroppedRuns />}
    </div>
  );
}

/** Gives the files to the worker; returns the place where to look at them. */
async function readDropped(files: readonly DroppedFile[]): Promise<string> {
  const [first] = files;
  if (!first) throw { message: 'There is no file in what was dropped.' } satisfies Failure;
  useFiles({ kind: 'dropped', files });
  const runs = await ask('runs', {});
  const roots = new Set(files.map(({ path }) => path.split('/')[1]!));
  if (runs.length > 1 || roots.size > 1) return linkTo(['doctor']);
  // The report of a file that is no run says why it is none.
  return linkToPlace({ run: runs[0]?.id ?? `/${first.path.split('/')[1]!}`, view: 'findings' });
}

function Picker({
  label,
  isFolder = false,
  take,
}: {
  label: string;
  isFolder?: boolean;
  take(files: Promise<readonly DroppedFile[]>): Promise<void>;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" onClick={() => input.current!.click()}>
        {label}
      </button>
      <input
        ref={input}
        type="file"
        hidden
        multiple={!isFolder}
        aria-label={label}
        {...(isFolder && { webkitdirectory: true })}
        onChange={({ currentTarget }) => {
          void take(Promise.resolve(filesOfPicker(currentTarget.files!)));
          // The same file may be chosen again after it has changed.
          currentTarget.value = '';
        }}
      />
    </>
  );
}
