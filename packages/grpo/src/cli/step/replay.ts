import { UsageError } from '../../config/index.js';
import { argumentsLayer } from '../../config/layers/arguments-layer.js';
import type { StepRecord } from '../../trace/index.js';
import { replay } from '../../view/replay.js';
import { viewOf } from '../../view/step-view.js';
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
  const own = replay(record, given);
  const { changed, unexplained } = own;
  process.stdout.write(
    json
      ? `${JSON.stringify({ changed, unexplained, recorded: viewOf(own.recorded), replayed: viewOf(own.replayed, []) })}\n`
      : replayPage(path, own, [], { ...options, width: pageWidth() }),
  );
  return 0;
}
