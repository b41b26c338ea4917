import { generationCheck, tryGeneration } from '../../inspection/generations.js';
import { measurePadding, paddingCheck } from '../../inspection/padding-lab.js';
import { loadModel } from '../../models/index.js';
import { Watch } from '../../progress/watch.js';
import { createReporter } from '../live.js';
import type { ShownInspection } from './page.js';

/** Loads the model, measures mistakes with padding, and completes the first prompts at several temperatures. */
export async function inspectWeights(inspection: ShownInspection): Promise<ShownInspection> {
  using reporter = createReporter({ stream: process.stderr });
  const watch = new Watch(reporter);
  const model = loadModel(inspection.model, { watch: watch.finishing() });
  using _ = model.decoder;
  const rows = inspection.rows.filter((row) => 'ids' in row);
  const isPlain = ({ prompt }: (typeof rows)[number]) => typeof prompt === 'string';
  const asked = [rows.find((row) => !isPlain(row)), rows.find(isPlain)].filter((row) => row !== undefined);
  // The mistakes are those of batches that attend to the left.
  const measured =
    inspection.padding && !model.decoder.config.diffusion
      ? await measurePadding(
          model,
          rows.map(({ ids }) => ids),
          { watch },
        )
      : undefined;
  const generations = await tryGeneration(model, asked, { watch });
  return {
    ...inspection,
    ...(measured && { measured }),
    generations,
    checks: [
      ...inspection.checks,
      ...(inspection.padding ? [paddingCheck(measured)] : []),
      generationCheck(generations),
    ],
  };
}
