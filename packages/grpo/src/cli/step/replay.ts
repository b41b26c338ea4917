import { type Layer, UsageError } from '../../config/index.js';
import { argumentsLayer } from '../../config/layers/arguments-layer.js';
import { noRun, runOf } from '../../config/run-of.js';
import { Watch } from '../../progress/watch.js';
import type { StepRecord } from '../../trace/index.js';
import { replay } from '../../view/replay.js';
import { viewOf } from '../../view/step-view.js';
import { claimStdout } from '../claim-stdout.js';
import { createReporter } from '../live.js';
import { pageWidth } from '../text-layout.js';
import { type ReplayPageOptions, replayPage } from './replay-page.js';

/** `grpo step PATH key=value`: the recorded rollout with other settings, beside the record. */
export async function printReplay(
  path: string,
  record: StepRecord,
  settings: readonly string[],
  { json, ...options }: Omit<ReplayPageOptions, 'width'> & { json: boolean },
): Promise<number> {
  const given = argumentsLayer(settings, 'train');
  if (given.problems.length > 0) throw new UsageError(given.problems.join('\n'));
  using out = claimStdout();
  const replayed = await replayOf(path, record, given, options.completion);
  const { changed, unexplained, model } = replayed;
  out.write(
    json
      ? `${JSON.stringify({ changed, unexplained, recorded: viewOf(replayed.recorded), replayed: viewOf(replayed.replayed, []), model: typeof model === 'string' ? { missing: model } : { ...model, record: undefined } })}\n`
      : replayPage(path, replayed, { ...options, width: pageWidth() }),
  );
  return 0;
}

/** With the weights of the step where its run has them; only then is a tensor engine loaded. */
async function replayOf(path: string, record: StepRecord, given: Layer, name: string | undefined) {
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  if (runOf(path) === undefined) return { ...replay(record, given, watch), model: noRun(path) };
  const { replayStep } = await import('../../run/replay/replay-step.js');
  const completion = viewOf(record, []).completions.find((one) => one.name === name)?.index;
  return await replayStep(path, record, given, {
    watch,
    ...(completion !== undefined && { completion }),
  });
}
