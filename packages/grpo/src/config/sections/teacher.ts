import { z } from 'zod';
import { ROLLOUT_ENGINES } from '../choices.js';
import { environmentVariable, serverUrl } from './server-schemas.js';

/** On-policy distillation: another model that the policy comes nearer to, by the KL to it on what the policy samples. */
export const teacherSection = z.strictObject({
  model: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Model folder, or ORG/NAME that grpo fetch got, with the tokenizer of the policy: the KL (kl.*) is measured to it, in place of the starting model. None when not given',
    ),
  engine: z
    .enum(ROLLOUT_ENGINES)
    .default('own')
    .describe(
      'Where the teacher is: own loads teacher.model into this process, vllm and sglang are servers that speak their HTTP. grpo serve speaks both',
    ),
  url: serverUrl.optional().describe("Address of the teacher's server, such as http://127.0.0.1:8000"),
  apiKeyEnv: environmentVariable
    .optional()
    .describe('Environment variable with the key of that server, where it asks for one; it is never written'),
});

/** Whether the KL is measured to another model than the starting one. */
export const hasTeacher = ({ teacher: { model, engine } }: { teacher: z.output<typeof teacherSection> }) =>
  model !== undefined || engine !== 'own';
