import type { Config } from '../config/schema.js';
import type { DiffusionShape } from '../models/config.js';
import { denoisingSizes } from '../rollout/denoising-schedule.js';
import type { InspectionCheck } from './check.js';

/** One setting of decoding: in training, in evaluation, and in the model's folder. */
export interface DecodingRow {
  /** As `generation_config.json` names it. */
  name: string;
  training: number;
  evaluation: string;
  /** Null where the folder says nothing. */
  folder: number | null;
}

/**
 * How training and evaluation decode, beside what the model's folder asks for.
 *
 * @param shape - of a masked-diffusion model
 */
export function decodingRows(
  { rollout, eval: evaluation, diffusion }: Pick<Config, 'rollout' | 'eval' | 'diffusion'>,
  generation: Readonly<Record<string, unknown>>,
  shape: DiffusionShape | undefined,
): DecodingRow[] {
  const { samples, temperature } = evaluation;
  const of = (name: string, training: number, evaluated = String(training)): DecodingRow => {
    const value = generation[name];
    return { name, training, evaluation: evaluated, folder: typeof value === 'number' ? value : null };
  };
  const sizes = shape && denoisingSizes(rollout.maxNewTokens, diffusion, shape);
  return [
    of('temperature', rollout.temperature, samples > 0 ? `0; ${samples} sampled at ${temperature}` : '0'),
    of('top_p', rollout.topP),
    of('top_k', rollout.topK),
    of('min_p', rollout.minP),
    of('repetition_penalty', rollout.repetitionPenalty),
    of('max_new_tokens', rollout.maxNewTokens),
    ...(sizes ? [of('block_length', sizes.blockLength), of('steps', sizes.steps)] : []),
  ];
}

export function decodingCheck(rows: readonly DecodingRow[]): InspectionCheck {
  const name = 'decoding';
  const log = rows.map(
    (row) =>
      `${row.name}: training ${row.training}, evaluation ${row.evaluation}, folder ${row.folder ?? '–'}`,
  );
  const other = rows.filter(({ folder, training }) => folder !== null && folder !== training);
  if (other.length === 0)
    return {
      name,
      verdict: 'pass',
      says: 'generation_config.json asks for nothing else than training samples with.',
      log,
    };
  const asked = other.map((row) => `${row.name} ${row.folder} (training: ${row.training})`).join(', ');
  return {
    name,
    verdict: 'inform',
    says: `generation_config.json asks for ${asked}. Here only the settings of the run count; transformers, TRL and vLLM may take the folder's (B18).`,
    remedy: 'Write every decoding setting into the other trainer or evaluation.',
    log,
  };
}
