import { resolveConfig, UsageError } from '../../../config/index.js';
import { readWhole } from '../../../formats/read-file.js';
import { Watch } from '../../../progress/watch.js';
import type { CommandArguments } from '../../command.js';
import { EXIT } from '../../command.js';
import { createReporter } from '../../live.js';
import { readable } from '../../readable.js';
import { pageWidth } from '../../text-layout.js';
import { type CheckedWith, checkFile, type FileReport, questionsOf } from './check-file.js';
import { type DataReport, dataReport, isClean } from './data-report.js';
import { rulerOf } from './lengths.js';
import { Overlap } from './overlap.js';
import { rowReader } from './row-reader.js';

/**
 * `grpo data check`: looks through files of problems before a model is trained on them. Exit code 0 when nothing was
 * found, 1 with findings, 2 when a file cannot be read. Needs no tensor engine.
 */
export async function run({ flags, settings, operands }: CommandArguments): Promise<number> {
  const [train, held, ...more] = operands;
  if (more.length > 0) throw new UsageError('grpo data check takes one file, or two: TRAIN and EVAL.');
  const { config } = resolveConfig({
    command: 'data check',
    file: flags.config as string | undefined,
    settings: [
      ...settings,
      ...(train === undefined ? [] : [`task.data=${train}`]),
      ...(held === undefined ? [] : [`task.evalData=${held}`]),
    ],
  });
  using reporter = createReporter({ stream: process.stderr });
  const report = await readable(async (): Promise<DataReport> => {
    const { task, model, rollout } = config;
    const reader = rowReader(task);
    const ruler = rulerOf(model, rollout.maxNewTokens);
    return {
      files: await checkFiles(task.data!, task.evalData, { reader, ruler, watch: new Watch(reporter) }),
      unit: ruler.unit,
      window: ruler.window ?? null,
      notes: task.prompt === undefined ? [] : marksOf(task.prompt),
    };
  });
  reporter.close();
  const clean = isClean(report);
  process.stdout.write(
    flags.json ? `${JSON.stringify({ clean, ...report })}\n` : dataReport(report, pageWidth()),
  );
  return clean ? 0 : EXIT.error;
}

/** The training file is read between two passes over the held-out one, of which only hashes are kept. */
async function checkFiles(
  train: string,
  held: string | undefined,
  checkedWith: CheckedWith,
): Promise<FileReport[]> {
  if (held === undefined) return [await checkFile(train, checkedWith, {})];
  const overlap = new Overlap();
  for await (const { question } of questionsOf(held, checkedWith)) overlap.hold(question);
  return [
    await checkFile(train, checkedWith, { train: overlap }),
    await checkFile(held, checkedWith, { held: { path: train, overlap } }),
  ];
}

/** Marks that an editor may have put into a prompt file, which is used byte for byte. */
function marksOf(path: string): string[] {
  const text = readWhole(path, 'the prompt', 2 ** 24).toString('utf8');
  return [
    ...(text.startsWith('\uFEFF')
      ? [`${path} begins with a byte order mark, which every prompt has too; save it as UTF-8 without one.`]
      : []),
    ...(text.includes('\r\n')
      ? [`${path} has lines that end in CRLF, which every prompt has too; save it with LF.`]
      : []),
  ];
}
