import { z } from 'zod';
import { count, positive } from './number-schemas.js';

/** Low-rank adapters in place of training all weights. */
export const loraSection = z.strictObject({
  rank: count
    .default(0)
    .describe(
      'Trains low-rank adapters of this rank and leaves the weights alone: more learns more and takes more memory, 0 = all weights are trained. They want about ten times the learning rate',
    ),
  alpha: positive
    .optional()
    .describe(
      'Adapters are multiplied by alpha / rank: more has the same learning rate move the model further. Twice the rank when not given',
    ),
  targets: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      'Layers that get an adapter, named as in target_modules of PEFT: q_proj, v_proj. All of attention and MLP when not given',
    ),
  dropout: z
    .number()
    .min(0)
    .lt(1)
    .default(0)
    .describe(
      'Share of the inputs of the adapters that each SFT update leaves out, in sft and expert: more overfits less. Never while sampling or scoring',
    ),
  adapter: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder of an adapter as PEFT writes it, on the model: training goes on with it. Its rank, alpha and targets are its own',
    ),
});

/** Whether adapters are trained, not all weights. */
export const usesLora = ({ lora }: { lora: z.output<typeof loraSection> }): boolean =>
  lora.rank > 0 || lora.adapter !== undefined;
