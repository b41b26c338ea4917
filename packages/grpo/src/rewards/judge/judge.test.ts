import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { uniform } from '../../maths/random.js';
import { isPartialFailure, type PartialFailure } from '../each.js';
import type { JudgeVerdict, RewardBatch } from '../reward.js';
import { type Judge, type JudgeOptions, judge } from './judge.js';
import { takeJudgeReports } from './judge-report.js';
import { type Asked, judgeServer, say, score, scoreOf } from './server.test.helper.js';

const QUICK = { retries: 1, retryWaitSeconds: 0.005, requestsPerSecond: 1e6 };

async function open(options: Partial<JudgeOptions> & { baseURL: string }): Promise<Judge> {
  const own = await judge({ model: 'first', prompt: 'P {prompt} C {completion}', ...QUICK, ...options });
  onTestFinished(() => own[Symbol.dispose]());
  return own;
}

/** A batch with one group per list. */
function batchOf(groups: readonly (readonly string[])[]): RewardBatch<unknown> {
  return {
    prompts: groups.flatMap((group, p) => group.map(() => `prompt ${p}`)),
    completions: groups.flat(),
    rows: groups.flatMap((group, p) => group.map(() => ({ p }))),
  };
}

/** Verdicts, and for those that failed the reason in place of a value. */
async function judged(
  { batch }: Judge,
  groups: RewardBatch<unknown>,
): Promise<(JudgeVerdict & { failure?: string })[]> {
  try {
    return (await batch(groups)) as JudgeVerdict[];
  } catch (error) {
    if (!isPartialFailure(error)) throw error;
    const { values, failures } = error as PartialFailure;
    const reasons = new Map(failures.map(({ index, reason }) => [index, reason]));
    return (values as JudgeVerdict[]).map((verdict, i) => ({
      ...verdict,
      ...(reasons.has(i) && { failure: reasons.get(i)! }),
    }));
  }
}

const completionIn = ({ message }: Asked) => /C ([\s\S]*)$/.exec(message)![1]!;

describe('a judge', () => {
  it('scores each completion, and says who did with what words', async () => {
    const { baseURL, asked } = await judgeServer((response, one) =>
      score(response, scoreOf(completionIn(one))),
    );
    const own = await open({ baseURL });
    const batch = batchOf([
      ['a', 'b', 'a'],
      ['a', '{prompt} {row.p}'],
    ]);
    const verdicts = await judged(own, batch);
    expect(verdicts.map(({ value }) => value)).toEqual(batch.completions.map(scoreOf));
    const host = new URL(baseURL).host;
    expect(verdicts[0]).toEqual({
      value: scoreOf('a'),
      rule: 'judged',
      provider: `first@${host}`,
      reply: `{"score":${scoreOf('a')},"reason":"as it is"}`,
    });
    // Equal completions of a group are asked about once, and a completion is not a template.
    expect(asked.map(({ message }) => message).sort()).toEqual([
      'P prompt 0 C a',
      'P prompt 0 C b',
      'P prompt 1 C a',
      'P prompt 1 C {prompt} {row.p}',
    ]);
    expect(own.counts).toMatchObject({ completions: 5, requests: 4, failed: 0, fallbacks: 0 });
  });

  it('shows the judge fields of the row, and tells of those that are not there', async () => {
    const { baseURL, asked } = await judgeServer((response) => score(response, 1));
    const own = await open({ baseURL, prompt: '{row.gold} {row.list} {"score": 1} {other} {completion}' });
    const batch = { prompts: ['p', [{ role: 'user' as const, content: 'q' }]], completions: ['x', 'y'] };
    const [first, second] = await judged(own, { ...batch, rows: [{ gold: 'g', list: [1] }, { gold: 'h' }] });
    expect(asked[0]!.message).toBe('g [1] {"score": 1} {other} x');
    expect(first!.value).toBe(1);
    expect(second).toEqual({ value: null, failure: "the judge's prompt has {row.list}, the row has gold" });
  });

  it('gives each bad reply as a failure of its completion', async () => {
    const { baseURL, asked } = await judgeServer((response, one) => say(response, completionIn(one)));
    const own = await open({ baseURL });
    const replies = ['{"score": 0.5}', '{"score": "0.5"}', 'The score: 0.5', '{"score": 2}'];
    const verdicts = await judged(own, batchOf([replies]));
    expect(verdicts.map(({ value }) => value)).toEqual([0.5, null, null, null]);
    expect(verdicts[1]!.failure).toMatch(
      /^first@127\S+ replied "\{\\"score\\": \\"0.5\\"\}": "score" is "0.5", not a number from 0 to 1$/,
    );
    // At temperature 0 it would give the same reply again.
    expect(asked).toHaveLength(4);
    expect(own.counts).toMatchObject({ completions: 4, failed: 3 });
  });

  it('judges a whole group by the next provider when the first fails on one of them', async () => {
    const first = await judgeServer((response, one) => {
      if (completionIn(one) === 'bad') response.writeHead(400).end('no');
      else score(response, 0.1);
    });
    const second = await judgeServer((response) => score(response, 0.9));
    const third = await judgeServer((response) => score(response, 0.5));
    const own = await open({
      baseURL: first.baseURL,
      fallbacks: [second, third].map(({ baseURL }, i) => ({ baseURL, model: `other${i}` })),
    });
    const verdicts = await judged(own, batchOf([['a', 'b'], ['c', 'bad', 'd'], ['bad']]));
    expect(verdicts.map(({ value }) => value)).toEqual([0.1, 0.1, 0.9, 0.9, 0.9, 0.9]);
    expect(new Set(verdicts.slice(2).map(({ provider }) => provider)).size).toBe(1);
    expect(verdicts.map(({ rule }) => rule)).toEqual([
      ...Array(2).fill('judged'),
      ...Array(4).fill('judged by a fallback'),
    ]);
    expect(third.asked).toHaveLength(0);
    expect(own.counts).toMatchObject({ completions: 6, fallbacks: 4 });
  });

  it('fails, with what each provider said, when the last one fails too', async () => {
    const first = await judgeServer((response) => response.writeHead(400).end('first no'));
    const second = await judgeServer((response, one) => {
      if (completionIn(one) === 'bad') say(response, '{}');
      else score(response, 0.9);
    });
    const own = await open({
      baseURL: first.baseURL,
      fallbacks: [{ baseURL: second.baseURL, model: 'second' }],
    });
    const [good, bad] = await judged(own, batchOf([['good', 'bad']]));
    expect(good).toMatchObject({ value: 0.9, provider: expect.stringMatching(/^second@/) });
    expect(bad).toMatchObject({ value: null, provider: good!.provider });
    expect(bad!.failure).toMatch(
      /^first@\S+: HTTP 400: "first no"; second@\S+ replied "\{\}": "score" is nothing/,
    );
  });

  it('never mixes providers within a group, whatever fails', async () => {
    let seed = 0;
    const flaky = (share: number, value: number) =>
      judgeServer((response, _, n) => {
        const draw = uniform(seed, value, n);
        if (draw > share) score(response, value / 10);
        else if (draw < share / 3) response.destroy();
        else if (draw < share / 2) response.writeHead(500).end();
        else say(response, 'nonsense');
      });
    const [first, second, third] = [await flaky(0.2, 1), await flaky(0.3, 2), await flaky(0.3, 3)];
    const own = await open({
      baseURL: first.baseURL,
      fallbacks: [second, third].map(({ baseURL }, i) => ({ baseURL, model: `other${i}` })),
    });
    const names = new Set<string | undefined>();
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 5 }),
        async (s, sizes) => {
          seed = s;
          const groups = sizes.map((size, p) => Array.from({ length: size }, (_, i) => `${s} ${p} ${i}`));
          const verdicts = await judged(own, batchOf(groups));
          let at = 0;
          for (const { length } of groups) {
            const group = verdicts.slice(at, at + length);
            at += length;
            const providers = new Set(group.map(({ provider }) => provider));
            expect(providers.size).toBe(1);
            names.add([...providers][0]);
            // A value is the one that its provider gives, and a failure has none.
            const values = group.filter(({ failure }) => failure === undefined).map(({ value }) => value);
            expect(new Set(values).size).toBeLessThanOrEqual(1);
            for (const { value, failure } of group) {
              expect(value === null).toBe(failure !== undefined);
              if (failure !== undefined) failed++;
            }
          }
        },
      ),
      { numRuns: 40, seed: 1 },
    );
    expect(names.size).toBe(3);
    expect(failed).toBeGreaterThan(0);
  }, 30_000);

  it('keeps the verdicts of the first provider, and neither failures nor those of a fallback', async () => {
    const cache = tempFolder();
    let works = false;
    const first = await judgeServer((response, one) =>
      works || completionIn(one) === 'good' ? score(response, 0.2) : say(response, 'nonsense'),
    );
    const second = await judgeServer((response) => score(response, 0.8));
    const options = {
      baseURL: first.baseURL,
      cache,
      fallbacks: [{ baseURL: second.baseURL, model: 'second' }],
    };
    const values = async (more: Partial<JudgeOptions> = {}, groups = [['good'], ['bad']]) => {
      const own = await open({ ...options, ...more });
      const verdicts = await judged(own, batchOf(groups));
      own[Symbol.dispose]();
      return [verdicts.map(({ value }) => value), own.counts.cacheHits];
    };
    expect(await values()).toEqual([[0.2, 0.8], 0]);
    const rows = readdirSync(cache).flatMap((name) =>
      readFileSync(join(cache, name), 'utf8').trim().split('\n'),
    );
    expect(rows).toHaveLength(1);
    works = true;
    expect(await values()).toEqual([[0.2, 0.2], 1]);
    const before = first.asked.length;
    expect(await values()).toEqual([[0.2, 0.2], 2]);
    expect(first.asked).toHaveLength(before);
    // Each of these settings decides the verdict, so a change of one misses the cache.
    const others = [
      { model: 'new' },
      { prompt: 'Q {prompt} C {completion}' },
      { task: 'other' },
      { jsonMode: false },
    ];
    for (const more of others) expect(await values(more)).toEqual([[0.2, 0.2], 0]);
    expect(await values({}, [['bad'], ['good']])).toEqual([[0.2, 0.2], 0]);
  });

  it('takes back what is under way when it is disposed of', async () => {
    const { baseURL } = await judgeServer(() => undefined);
    const own = await open({ baseURL, fallbacks: [{ baseURL, model: 'second' }] });
    const asking = own.batch(batchOf([['a', 'b'], ['c']]));
    setTimeout(() => own[Symbol.dispose](), 20);
    await expect(asking).rejects.toMatchObject({
      failures: [0, 1, 2].map((index) => ({ index, reason: 'the judge was closed' })),
    });
  });

  it('refuses wrong options before anything is asked', async () => {
    const options = { baseURL: 'http://localhost/v1', model: 'm', prompt: '{completion}' };
    const cases: [object, string][] = [
      [{ prompt: 'Rate {prompt}' }, 'prompt has no {completion}'],
      [{ ask: 'ranking' }, 'prompt has no {completions}'],
      [{ ask: 'ranking', components: { a: 1 }, prompt: '{completions}' }, 'components'],
      [{ timeoutSeconds: 0 }, 'timeoutSeconds'],
      [{ retrys: 1 }, 'retrys'],
      [{ components: { a: -1 } }, 'components.a'],
      [{ apiKeyEnv: 'TEST_NO_KEY' }, 'TEST_NO_KEY, which is not set'],
      [{ fallbacks: [{ baseURL: 'nowhere', model: 'm' }] }, 'baseURL is "nowhere"'],
    ];
    for (const [more, message] of cases) {
      const error: unknown = await judge({ ...options, ...more }).catch((reason: unknown) => reason);
      expect(error, message).toBeInstanceOf(UserError);
      expect((error as UserError).message).toContain(message);
    }
  });
});

describe('a ranking', () => {
  const ranked = { ask: 'ranking', prompt: 'P {prompt}\n{completions}' } as const;
  /** The texts as they were shown. */
  const shownIn = ({ message }: Asked) =>
    [...message.matchAll(/<<<\d+ \w+>>>\n([\s\S]*?)\n<<<end \w+>>>/g)].map(([, text]) => text!);

  it('asks once about a group, in an order that does not depend on theirs', async () => {
    const { baseURL, asked } = await judgeServer((response, one) => {
      const shown = shownIn(one);
      const order = shown.map((_, i) => i + 1).sort((a, b) => shown[b - 1]!.length - shown[a - 1]!.length);
      say(response, JSON.stringify({ ranking: order }));
    });
    const own = await open({ baseURL, ...ranked });
    const groups = [['x', 'xxx', 'xx', 'xxxx', 'xxxxx'], ['a', 'aa', 'a'], ['one'], ['b', 'b']];
    const verdicts = await judged(own, batchOf(groups));
    expect(verdicts.map(({ value }) => value)).toEqual([
      0,
      0.5,
      0.25,
      0.75,
      1,
      0.25,
      1,
      0.25,
      null,
      0.5,
      0.5,
    ]);
    expect(asked).toHaveLength(2);
    const [long] = asked.map(shownIn).filter(({ length }) => length === 5);
    expect([...long!].sort()).toEqual([...groups[0]!].sort());
    // Over many groups each completion stands in each place.
    asked.length = 0;
    const many = Array.from({ length: 60 }, (_, p) => ['x', 'xx', 'xxx'].map((text) => `${text}${p}`));
    await judged(own, batchOf(many));
    const places = asked.map((one) => shownIn(one).findIndex((text) => /^x\d/.test(text)));
    for (const place of [0, 1, 2]) expect(places.filter((own) => own === place).length).toBeGreaterThan(8);
  });

  it('fails as a whole, and goes to the next provider as a whole', async () => {
    const first = await judgeServer((response) => say(response, '{"ranking": [1, 1]}'));
    const own = await open({ baseURL: first.baseURL, ...ranked });
    const failed = await judged(own, batchOf([['a', 'b']]));
    expect(failed.map(({ failure }) => failure)).toEqual(
      Array(2).fill(expect.stringMatching(/"ranking" has 1 twice/)),
    );
    const second = await judgeServer((response) => say(response, '{"ranking": [2, 1]}'));
    const helped = await open({
      baseURL: first.baseURL,
      ...ranked,
      fallbacks: [{ baseURL: second.baseURL, model: 'second' }],
    });
    const verdicts = await judged(helped, batchOf([['a', 'b']]));
    expect(verdicts.map(({ value }) => value).sort()).toEqual([0, 1]);
    expect(helped.counts.fallbacks).toBe(2);
  });

  it('is found again in the cache', async () => {
    const cache = tempFolder();
    const { baseURL, asked } = await judgeServer((response) => say(response, '{"ranking": [2, 1, 3]}'));
    const values = async (seed: number) => {
      const own = await open({ baseURL, ...ranked, cache, seed });
      return (await judged(own, batchOf([['a', 'b', 'c']]))).map(({ value }) => value);
    };
    const first = await values(0);
    expect(await values(0)).toEqual(first);
    expect(asked).toHaveLength(1);
  });
});

describe('the report', () => {
  it('has counts and latencies, and begins anew', async () => {
    const first = await judgeServer((response, one, n) => {
      if (n === 0) response.writeHead(429).end();
      else if (completionIn(one).startsWith('bad')) response.writeHead(400).end();
      else score(response, 0.5);
    });
    const second = await judgeServer((response) => score(response, 0.9));
    const own = await open({
      baseURL: first.baseURL,
      fallbacks: [{ baseURL: second.baseURL, model: 'second' }],
    });
    const rewards = [{ name: 'kind', weight: 1, score: own.batch }];
    await judged(own, batchOf([['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['bad']]));
    const [a, b] = [first, second].map(({ baseURL }) => new URL(baseURL).host);
    const { numbers, alarms } = takeJudgeReports(rewards);
    expect(numbers).toMatchObject({
      'judge/kind/completions': 7,
      'judge/kind/fallback_share': 1 / 7,
      'judge/kind/requests': 9,
      'judge/kind/retries': 1,
      'judge/kind/rate_limited': 1,
      'judge/kind/failed': 0,
      'judge/kind/cache_hits': 0,
      [`judge/kind/provider/first@${a}`]: 6,
      [`judge/kind/provider/second@${b}`]: 1,
    });
    const { 'judge/kind/latency_p50': p50 = 0, 'judge/kind/latency_p95': p95 = 0 } = numbers;
    expect(0 < p50 && p50 <= p95).toBe(true);
    // Too few to say.
    expect(alarms).toEqual([]);
    expect(takeJudgeReports(rewards).numbers).toMatchObject({
      'judge/kind/requests': 0,
      'judge/kind/latency_p95': 0,
    });
    expect(takeJudgeReports([{ name: 'other', weight: 1, score: () => [] }])).toEqual({
      numbers: {},
      alarms: [],
    });
  });

  it('raises an alarm once for each time that fallbacks take over', async () => {
    let works = false;
    const first = await judgeServer((response) =>
      works ? score(response, 0.5) : response.writeHead(400).end('no'),
    );
    const second = await judgeServer((response) => score(response, 0.9));
    const own = await open({
      baseURL: first.baseURL,
      fallbacks: [{ baseURL: second.baseURL, model: 'second' }],
    });
    const rewards = [{ name: 'kind', weight: 1, score: own.batch }];
    const step = async () => {
      await judged(own, batchOf([[...'abcd'], [...'efgh']]));
      return takeJudgeReports(rewards).alarms;
    };
    const [alarm] = await step();
    expect(alarm).toMatch(
      /^judge kind: 8 of 8 completions \(100 %\) were judged by a fallback, since first@\S+: HTTP 400: "no"\. /,
    );
    expect(await step()).toEqual([]);
    works = true;
    expect(await step()).toEqual([]);
    works = false;
    expect(await step()).toHaveLength(1);
  });
});

it('has no key in what it says, keeps or shows', async () => {
  vi.stubEnv('TEST_JUDGE_KEY', 'sk-secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const cache = tempFolder();
  const { baseURL } = await judgeServer((response, one) => {
    const key = one.headers.authorization!;
    if (completionIn(one) === 'a') say(response, `{"score": 1, "reason": "${key}"}`);
    else response.writeHead(403).end(key);
  });
  const own = await open({ baseURL, cache, apiKeyEnv: 'TEST_JUDGE_KEY' });
  const verdicts = await judged(own, batchOf([['a', 'b']]));
  expect(verdicts[0]!.value).toBe(1);
  expect(verdicts[1]!.failure).toContain('HTTP 403, check the key in TEST_JUDGE_KEY');
  const [file] = readdirSync(cache) as [string];
  for (const text of [JSON.stringify(verdicts), readFileSync(join(cache, file), 'utf8')])
    expect(text).not.toContain('sk-secret');
});
