import { dirname, extname, join, relative } from 'node:path';
import { counted } from '../../errors/counted.js';
import { FormatError } from '../../errors/format-error.js';
import { printable } from '../../errors/printable.js';
import { UserError } from '../../errors/user-error.js';
import { candidatesIn } from './candidates.js';
import { type Place, placeOf } from './place.js';
import { BrokenParts, type Reading } from './reading.js';
import { crashIn } from './step-folders.js';

/** How places are recognised and read. */
export interface PlaceReaders {
  /** Whether a folder is one run. */
  isRun(folder: Place): boolean;
  read(place: Place): Reading | Promise<Reading>;
}

const MOST_RUNS = 200;

interface Found {
  path: string;
  reading: Reading;
}

/**
 * Reads the runs below a folder that is no run itself: one is read as if it had been given, of several each is a run.
 *
 * @throws FormatError when there is none, with what there is
 */
export async function readFolderOfRuns(place: Place, readers: PlaceReaders): Promise<Reading> {
  const found: Found[] = [];
  const problems: string[] = [];
  for (const path of candidatesIn(place.path, readers.isRun)) {
    if (found.length >= MOST_RUNS) break;
    try {
      const reading = await readers.read(placeOf(path, place.watch));
      if (reading.series || reading.records || reading.runs) found.push({ path, reading });
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      problems.push(error.message.replace(`${place.path}/`, ''));
    }
  }
  const folders = new Set(found.map(({ path }) => dirname(path)));
  const runs = [...folders].flatMap((folder) => runsOf(found.filter(({ path }) => dirname(path) === folder)));
  if (runs.length === 0) throw nothingIn(place, problems);
  const [only] = runs;
  if (runs.length === 1)
    return { ...only!.reading, notes: [...only!.reading.notes, `Read from ${nameIn(place, only!.path)}.`] };
  return {
    kind: `folder of ${runs.length} runs`,
    files: runs.flatMap(({ reading }) => reading.files),
    runs: runs.flatMap(({ path, reading }) =>
      (reading.runs ?? [{ name: '', read: () => Promise.resolve(reading) }]).map(
        ({ name, read: readPart }) => ({
          name: [nameIn(place, path), name].filter((part) => part !== '').join(', '),
          read: readPart,
        }),
      ),
    ),
    isGrpo: runs.some(({ reading }) => reading.isGrpo),
    broken: new BrokenParts(),
    notes:
      problems.length === 0
        ? []
        : [
            `${counted(problems.length, 'file')} ${problems.length === 1 ? 'is no log' : 'are no logs'}: ${printable(problems[0]!, 200)}`,
          ],
  };
}

const nameIn = (place: Place, path: string) => printable(relative(place.path, path), 120);

/**
 * The runs that the files of one folder are: files of one kind are runs of their own, other kinds tell of the same runs
 * once more, and completions belong to the only log beside them.
 */
function runsOf(found: readonly Found[]): readonly Found[] {
  const logs = found.filter(({ reading }) => reading.series || reading.runs);
  if (logs.length === 0) return found;
  const kinds = [...new Set(logs.map(({ path }) => extname(path)))].map((kind) =>
    logs.filter(({ path }) => extname(path) === kind),
  );
  const chosen = kinds.reduce((a, b) => (numbersIn(b) > numbersIn(a) ? b : a));
  const [only] = chosen;
  const records = found.find(({ reading }) => reading.records && !reading.series)?.reading;
  if (chosen.length > 1 || !records?.records || !only!.reading.series) return chosen;
  const { reading, path } = only!;
  return [
    {
      path,
      reading: {
        ...reading,
        records: records.records,
        files: [...reading.files, ...records.files],
        notes: [...reading.notes, ...records.notes],
      },
    },
  ];
}

const numbersIn = (found: readonly Found[]): number =>
  found
    .flatMap(({ reading }) => reading.series?.entries ?? [])
    .reduce((sum, { values }) => sum + Object.keys(values).length, 0);

function nothingIn({ path, names }: Place, problems: readonly string[]): FormatError {
  const listed = names.slice(0, 8).map((name) => printable(name, 40));
  const found =
    names.length === 0 ? 'the folder is empty' : `found ${listed.join(', ')}${names.length > 8 ? ', …' : ''}`;
  const why = problems.length === 0 ? '' : `; ${printable(problems[0]!, 300)}`;
  const crash = crashIn(path) ?? crashIn(join(path, 'steps'));
  if (crash !== undefined)
    return new FormatError(path, `${crash} It left nothing else that the doctor reads: ${found}`);
  return new FormatError(path, `nothing here that the doctor reads: ${found}${why}`, {
    hint: 'It reads a run folder of grpo, step records (step.json), an output folder of TRL (checkpoint-*/trainer_state.json, completions/*.parquet), folders of TensorBoard and W&B, notebooks, and logs.',
  });
}
