import { z } from 'zod';

const part = z.object({ type: z.literal('text', 'only text is read, no images or sound'), text: z.string() });

/** A turn of a conversation; parts of a text are lines of it, as vLLM joins them. */
export const message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([
    z.string(),
    z.array(part).transform((parts) => parts.map(({ text }) => text).join('\n')),
  ]),
  name: z.string().optional(),
  tool_calls: z.array(z.unknown()).nullish(),
  tool_call_id: z.string().optional(),
  reasoning_content: z.string().nullish(),
});
