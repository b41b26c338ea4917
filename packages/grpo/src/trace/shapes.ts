/** Whether the arrays of a record fit together. */
import type { StepRecord } from './record.js';

/** The first array whose length contradicts another's, in words; undefined when all fit. */
export function shapeProblem(record: StepRecord): string | undefined {
  const { prompts, completions, scored, rewards } = record;
  const P = sizeOf('prompts', prompts, [
    'lengths',
    'scoredLengths',
    'texts',
    'messages',
    'rows',
    'answers',
    'spans',
  ]);
  const B = sizeOf('completions', completions, ['lengths', 'prompt', 'texts', 'finish']);
  const rules: (Rule | undefined)[] = [
    ...agree('prompts', prompts, P),
    ...agree('completions', completions, B),
    tokens('prompts.ids', prompts?.ids, 'prompts.lengths', prompts?.lengths),
    tokens('prompts.scoredIds', prompts?.scoredIds, 'prompts.scoredLengths', prompts?.scoredLengths),
    ...perToken(
      'completions',
      completions,
      ['ids', 'source', 'samplerLogprobs', 'sampledLogprobs'],
      completions?.lengths,
    ),
    { name: 'scored.lengths', found: scored?.lengths?.length, of: 'completions', expected: B?.count },
    ...perToken('scored', scored, ['ids', 'mask', 'oldLogprobs', 'referenceLogprobs'], scored?.lengths),
    { name: 'advantages', found: record.advantages?.length, of: 'completions', expected: B?.count },
    { name: 'rewards.totals', found: rewards?.totals?.length, of: 'completions', expected: B?.count },
    {
      name: 'rewards.values',
      found: rewards?.values?.length,
      of: 'rewards.names × completions',
      expected: rewards?.names && B && rewards.names.length * B.count,
    },
  ];
  for (const [i, update] of (record.updates ?? []).entries()) {
    const own = update.completions ? [...update.completions] : undefined;
    const outside = own?.find((b) => B && (b < 0 || b >= B.count));
    if (outside !== undefined) return `updates.${i}.completions names completion ${outside} of ${B!.count}`;
    const lengths = scored?.lengths;
    const expected = lengths && (own ?? [...lengths.keys()]).reduce((sum, b) => sum + lengths[b]!, 0);
    for (const key of [
      'policyLogprobs',
      'entropies',
      'ratios',
      'policyTerms',
      'klTerms',
      'weights',
    ] as const) {
      rules.push({ name: `updates.${i}.${key}`, found: update[key]?.length, of: 'scored tokens', expected });
    }
  }
  const broken = rules.find(
    (rule) => rule && rule.found !== undefined && rule.expected !== undefined && rule.found !== rule.expected,
  );
  if (broken) return `${broken.name} has ${broken.found} values, ${broken.of} has ${broken.expected}`;
  const stray = P && completions?.prompt?.find((p) => p < 0 || p >= P.count);
  return stray === undefined ? undefined : `completions.prompt names prompt ${stray} of ${P!.count}`;
}

interface Rule {
  name: string;
  found: number | undefined;
  of: string;
  expected: number | undefined;
}

interface Size {
  /** The list that told the count. */
  list: string;
  count: number;
}

type Lists = Record<string, unknown> | undefined;

const lengthOf = (value: unknown) => (value as { length: number } | undefined)?.length;

/** How many there are, by the first of the lists that is there. */
function sizeOf(
  part: string,
  holder: Lists,
  names: readonly string[],
): (Size & { names: readonly string[] }) | undefined {
  const name = names.find((key) => holder?.[key] !== undefined);
  return name === undefined ? undefined : { list: `${part}.${name}`, count: lengthOf(holder![name])!, names };
}

function agree(part: string, holder: Lists, size: (Size & { names: readonly string[] }) | undefined): Rule[] {
  if (!size) return [];
  return size.names.map((key) => ({
    name: `${part}.${key}`,
    found: lengthOf(holder![key]),
    of: size.list,
    expected: size.count,
  }));
}

function tokens(
  name: string,
  ids: Int32Array | undefined,
  of: string,
  lengths: Int32Array | undefined,
): Rule {
  return { name, found: ids?.length, of: `the sum of ${of}`, expected: lengths?.reduce((a, b) => a + b, 0) };
}

function perToken(
  part: string,
  holder: Lists,
  names: readonly string[],
  lengths: Int32Array | undefined,
): Rule[] {
  const expected = lengths?.reduce((a, b) => a + b, 0);
  return names.map((key) => ({
    name: `${part}.${key}`,
    found: lengthOf(holder?.[key]),
    of: `the sum of ${part}.lengths`,
    expected,
  }));
}
