/** The stored groups in a checkpoint: a JSON object a line, oldest first. */
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { FormatError } from '../../errors/format-error.js';
import { UserError } from '../../errors/user-error.js';
import { readJsonLines } from '../../formats/jsonl.js';
import { TokenSets } from '../../formats/token-sets.js';
import { judgedBy } from '../../rewards/grounds.js';
import { Batch, type StoredGroup } from '../../step/batch.js';
import type { Problem } from '../../tasks/task.js';

/** JSON has no NaN: a missing value is null. */
const numbers = z.array(z.number().nullable());
const floats = numbers.transform((values) => Float32Array.from(values, (value) => value ?? Number.NaN));
const doubles = numbers.transform((values) => Float64Array.from(values, (value) => value ?? Number.NaN));
const place = z.number().int().nonnegative();

/** The ids that each token could have been drawn from: bytes of each set, and the sets in base64. */
const supportSchema = z
  .object({ lengths: z.array(place), data: z.base64() })
  .transform(({ lengths, data }, context) => {
    try {
      return TokenSets.fromBytes(lengths, new Uint8Array(Buffer.from(data, 'base64')));
    } catch (error) {
      context.addIssue((error as Error).message);
      return z.NEVER;
    }
  });

const groundsSchema = z.object({
  parts: z.record(z.string(), z.number()).exactOptional(),
  rule: z.string().exactOptional(),
  provider: z.string().exactOptional(),
  reply: z.string().exactOptional(),
});

const rowSchema = z.object({
  step: place,
  score: z.number(),
  /** Its place among the problems to train on. */
  problem: place,
  prompt: z.object({
    text: z.string(),
    ids: z.array(place),
    spans: z.array(
      z.object({
        kind: z.enum(['prompt', 'message', 'generation', 'completion']),
        role: z.enum(['system', 'user', 'assistant', 'tool']).optional(),
        index: place.optional(),
        start: place,
        end: place,
      }),
    ),
    generationPrompt: z.boolean().optional(),
  }),
  completions: z.array(
    z.object({
      ids: z.array(place),
      text: z.string(),
      finishReason: z.enum(['stop', 'length']),
      weights: z.number().exactOptional(),
      source: z.object({ server: z.string(), weightVersion: z.string() }).exactOptional(),
      logprobs: floats,
      sampledLogprobs: floats,
      support: supportSchema.exactOptional(),
    }),
  ),
  rewards: z.object({
    names: z.array(z.string()),
    weights: z.array(z.number()),
    columns: z.array(doubles),
    grounds: z.array(z.array(groundsSchema.nullable())).exactOptional(),
    dropped: z.array(z.number()).transform((values) => Uint8Array.from(values)),
  }),
  /** By the trainer, where it computed them. */
  oldLogprobs: z.array(floats).optional(),
});

/**
 * The lines of a file that {@link readStore} reads.
 *
 * @param problems - those that the stored groups are of
 * @throws UserError for a group of another problem, as a loop of one's own may have
 */
export function storeLines(stored: readonly StoredGroup[], problems: readonly Problem[]): string {
  const placeOf = new Map(problems.map((problem, i) => [problem, i]));
  return stored
    .map(({ group, old, step, score }) => {
      const problem = placeOf.get(group.problems[0]!);
      if (problem === undefined) {
        throw new UserError('a stored group is of a problem that the task does not train on', {
          hint: 'Take the problems of your loop from task.train, or set groups.replay=0.',
        });
      }
      const { columns, unscored, failures: _, facts: __, ...rest } = group.rewardTable;
      const row = {
        step,
        score,
        problem,
        prompt: group.prompts[0],
        completions: group.completions_B.map(({ logprobs, sampledLogprobs, support, ...completion }) => ({
          ...completion,
          ...(support && { support: linesOf(support) }),
          logprobs: [...logprobs],
          sampledLogprobs: [...sampledLogprobs],
        })),
        rewards: { ...rest, columns: columns.map((column) => [...column]), dropped: [...unscored] },
        oldLogprobs: old?.map((values) => [...values]),
      };
      return `${JSON.stringify(row)}\n`;
    })
    .join('');
}

const linesOf = ({ lengths, data }: TokenSets) => ({
  lengths: [...lengths],
  data: Buffer.from(data).toString('base64'),
});

/**
 * The groups that a checkpoint stored; none without a file.
 *
 * @throws FormatError for a line that is no stored group, or of a problem that is not there
 */
export async function readStore(path: string, problems: readonly Problem[]): Promise<StoredGroup[]> {
  const stored: StoredGroup[] = [];
  if (!existsSync(path)) return stored;
  for await (const { line, value } of readJsonLines(path))
    stored.push(storedGroup(value, problems, path, line));
  return stored;
}

/** The groups in lines of such a file. */
export const parseStore = (lines: string, problems: readonly Problem[]): StoredGroup[] =>
  lines
    .split('\n')
    .slice(0, -1)
    .map((line, i) => storedGroup(JSON.parse(line), problems, 'the stored groups', i + 1));

function storedGroup(value: unknown, problems: readonly Problem[], path: string, line: number): StoredGroup {
  const row = rowSchema.safeParse(value);
  if (!row.success)
    throw new FormatError(path, `not a stored group: ${z.prettifyError(row.error)}`, { line });
  const { step, score, problem, prompt, completions, rewards, oldLogprobs } = row.data;
  const own = problems[problem];
  if (!own) {
    throw new FormatError(
      path,
      `a stored group belongs to problem ${problem}, but there are ${problems.length} problems`,
      {
        line,
        hint: 'The data is shorter than before. Resume with the earlier data, or with groups.replay=0.',
      },
    );
  }
  const facts = judgedBy(rewards.grounds ?? []);
  const { dropped: unscored, ...table } = rewards;
  const rewardTable = { ...table, unscored, ...(Object.keys(facts).length > 0 && { facts }), failures: [] };
  const group = new Batch({ problems: [own], prompts: [prompt], completions_B: completions, rewardTable });
  return { group, old: oldLogprobs, step, score };
}
