// Tokens per second of the server's engine under requests that come at random times, beside the sampler's for the same
// completions in one lot: node bench/serve.mjs [--model FOLDER | tiny] [--clients 8,32,64] [--times 5]
//   [--prompt-len 64] [--completion-len 64] [--gap 2] [--threads 2] [--url http://127.0.0.1:8000]
// Requests come `gap` milliseconds after each other on average; 0 lets all come at once. The two take turns, and each
// number is the median. With a URL the requests go to a server that speaks vLLM's completions, such as `grpo serve`, which
// has the same model.

import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { median } from '../packages/grpo/dist/maths/quantile.js';
import { uniform } from '../packages/grpo/dist/maths/random.js';
import { machineBudget } from '../packages/grpo/dist/memory/limit.js';
import { initDecoder, loadModel } from '../packages/grpo/dist/models/index.js';
import { plainSampling, sample } from '../packages/grpo/dist/rollout/index.js';
import { ServeEngine } from '../packages/grpo/dist/serve/engine.js';
import { setThreads } from '../packages/torch/dist/index.js';

const { values: flags } = parseArgs({
  options: {
    model: { type: 'string', default: 'tiny' },
    clients: { type: 'string', default: '8,32,64' },
    times: { type: 'string', default: '5' },
    'prompt-len': { type: 'string', default: '64' },
    'completion-len': { type: 'string', default: '64' },
    gap: { type: 'string', default: '2' },
    threads: { type: 'string', default: '2' },
    url: { type: 'string' },
  },
});
const [promptLength, maxNewTokens, times, gap, threads] = [
  flags['prompt-len'],
  flags['completion-len'],
  flags.times,
  flags.gap,
  flags.threads,
].map(Number);
setThreads(threads);

/** About 0.5 million parameters, with the tokenizer of the test models. */
function tinyModel() {
  const like = loadModel(new URL('../parity/fixtures/models/qwen2', import.meta.url).pathname);
  const sizes = { hiddenSize: 128, intermediateSize: 384, layers: 3, heads: 4, kvHeads: 2, headDim: 32 };
  const config = { ...like.decoder.config, ...sizes, maxPositions: 4096 };
  like.decoder.dispose();
  return { ...like, decoder: initDecoder(config, { seed: 1, dtype: 'float32' }) };
}

const model = flags.model === 'tiny' ? tinyModel() : loadModel(flags.model);
const { vocabSize } = model.decoder.config;
// Completions end at their limit, so that both draw the same number of tokens.
const options = { ...plainSampling, maxNewTokens, minNewTokens: maxNewTokens };
const memoryBytes = machineBudget('cpu').bytes / 4;

/** Requests with prompts of half to the whole length, and the times at which they come. */
function requestsOf(clients, time) {
  let at = 0;
  return Array.from({ length: clients }, (_, i) => {
    at -= gap * Math.log(1 - uniform(time, i, 1));
    const length = Math.ceil((promptLength * (1 + uniform(time, i, 2))) / 2);
    const prompt = Array.from({ length }, (_, j) => Math.floor(vocabSize * uniform(time, i, 3, j)));
    return { at, prompt, keys: [i] };
  });
}

async function ofSampler(requests) {
  const groups = requests.map(({ prompt, keys }) => ({ ids: prompt, count: 1, keys }));
  const lot = { ...options, lotBytes: memoryBytes };
  return (await sample(model, groups, lot, 1)).flat().map(({ ids }) => ids);
}

/** A client that waits for its time, then for its answer. */
const whenDue = (requests, ask) =>
  Promise.all(
    requests.map(async (request) => {
      await setTimeout(request.at);
      return ask(request);
    }),
  );

const ofEngine = (engine) => (requests) =>
  whenDue(requests, async ({ prompt, keys }) => {
    const { completions } = await engine.generate({ prompt, keys, count: 1, options, seed: 1 });
    return completions[0].ids;
  });

const ofServer = (url) => (requests) =>
  whenDue(requests, async ({ prompt, keys }) => {
    const body = {
      prompt,
      max_tokens: maxNewTokens,
      min_tokens: maxNewTokens,
      temperature: 1,
      seed: 1,
      logprobs: 0,
      return_token_ids: true,
      vllm_xargs: { random_keys: keys },
    };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/v1/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
    return (await response.json()).choices[0].token_ids;
  });

async function timed(run, requests) {
  const begin = performance.now();
  const ids = await run(requests);
  const seconds = (performance.now() - begin) / 1000;
  return { ids, rate: ids.flat().length / seconds };
}

const engine = new ServeEngine(model, { name: flags.model, memoryBytes });
const served = flags.url ? ofServer(flags.url) : ofEngine(engine);
console.log(
  `${flags.model}, prompts of ${promptLength / 2} to ${promptLength} tokens, completions of ${maxNewTokens}, ` +
    `a request every ${gap} ms, ${threads} threads; tokens per second`,
);
console.log('| requests | sampler, one lot | server | of the sampler | same completions |');
console.log('| ---: | ---: | ---: | ---: | ---: |');
for (const clients of flags.clients.split(',').map(Number)) {
  const rates = { sampler: [], server: [] };
  let same = 0;
  // The first turn lays the weights out.
  for (let time = 0; time <= times; time++) {
    const requests = requestsOf(clients, time);
    const lot = await timed(ofSampler, requests);
    const answers = await timed(served, requests);
    if (time === 0) continue;
    rates.sampler.push(lot.rate);
    rates.server.push(answers.rate);
    same += answers.ids.filter((ids, i) => ids.join() === lot.ids[i].join()).length;
  }
  const [a, b] = [median(rates.sampler), median(rates.server)];
  console.log(
    `| ${clients} | ${a.toFixed(0)} | ${b.toFixed(0)} | ${((100 * b) / a).toFixed(0)} % | ${same} of ${times * clients} |`,
  );
}
engine[Symbol.dispose]();
