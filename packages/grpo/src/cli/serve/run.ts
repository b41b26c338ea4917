import { once } from 'node:events';
import { realpathSync, statSync } from 'node:fs';
import { getThreads, setThreads } from '@grpo/torch';
import { resolveConfig, UsageError, UserError } from '../../config/index.js';
import { objectLayer } from '../../config/layers/layer.js';
import { counted } from '../../errors/counted.js';
import { onFile } from '../../errors/file-error.js';
import { wholeNumber } from '../../errors/whole-number.js';
import { addressOf, LOOPBACK, MOST_PORT } from '../../http/address.js';
import { Watch } from '../../progress/watch.js';
import { describeDevice } from '../../run/device.js';
import { withMemory } from '../../run/memory-plan.js';
import { openModel } from '../../run/model-source.js';
import { ServeEngine } from '../../serve/engine.js';
import { serveHttp } from '../../serve/http/serve-http.js';
import type { CommandArguments } from '../command.js';
import { interruptible } from '../interrupt.js';
import { createReporter } from '../live.js';
import { reportActivity } from './activity.js';
import { decodingBytes } from './decoding-bytes.js';

/** Requests that are there at Ctrl-C have this long to hear that they are ended. */
const PATIENCE_MS = 2000;

/** `grpo serve`: answers requests for completions of a model until Ctrl-C. */
export async function run({ flags, operands, settings }: CommandArguments): Promise<number> {
  const [model, ...more] = operands;
  if (model === undefined || more.length > 0) {
    throw new UsageError('grpo serve needs one model: a folder, or a name on the Hugging Face hub.', {
      hint: 'For instance: grpo serve runs/first/checkpoints/step-100',
    });
  }
  const host = (flags.host as string | undefined) ?? LOOPBACK;
  const port = wholeNumber('--port', flags.port, { most: MOST_PORT }) ?? 8000;
  const apiKey = await keyFor(host, flags);
  const weightFolders = ((flags['weights-from'] as string[] | undefined) ?? []).map(folderOf);
  const layers = [objectLayer('MODEL', { model })];
  const asked = resolveConfig({ command: 'serve', layers, settings });
  const resolved = withMemory(asked);
  const { config, provenance } = resolved;
  if (config.threads !== undefined) setThreads(config.threads);
  const log = (text: string) => process.stderr.write(`${text}\n`);
  log(`${describeDevice(config.device, provenance.device!)}\nLoading ${model} …`);
  const reporter = createReporter({ stream: process.stderr });
  let maxModelLen =
    wholeNumber('--max-model-len', flags['max-model-len'], { least: 2 }) ?? Number.POSITIVE_INFINITY;
  let memoryBytes = 0;
  const loaded = openModel(config, {
    watch: new Watch(reporter),
    beforeWeights: (shape) => {
      maxModelLen = Math.min(maxModelLen, shape.config.maxPositions);
      const takesAll = asked.config.memory !== 'auto';
      memoryBytes = decodingBytes(resolved, shape, { maxModelLen, takesAll });
    },
  });
  reporter.close();
  const name = (flags.name as string | undefined) ?? model;
  using engine = new ServeEngine(loaded, { name, maxModelLen, memoryBytes });
  const server = await serveHttp(engine, { name, folder: model, weightFolders, log, host, port, apiKey });
  const { dtype } = loaded.decoder;
  const count = counted(getThreads(), 'thread');
  process.stdout.write(
    `Serving ${name} (${dtype}, ${engine.maxModelLen} tokens, ${count}) at ${server.url}/v1\n`,
  );
  if (!server.isLoopback)
    log('The connection is not encrypted. Where that matters, use 127.0.0.1 and ssh -L (docs/serve.md).');
  log('Ctrl-C ends it.');
  using interrupt = interruptible(log, 'ending the requests');
  using _activity = reportActivity(engine, server, log);
  if (!interrupt.signal.aborted) await once(interrupt.signal, 'abort');
  engine[Symbol.dispose]();
  await server.close(PATIENCE_MS);
  return interrupt.exitCode;
}

/** The key that clients bring. @throws UsageError: another machine could come without one */
async function keyFor(host: string, flags: CommandArguments['flags']): Promise<string | undefined> {
  const key = (flags['api-key'] as string | undefined) ?? process.env.GRPO_API_KEY;
  if (key === '') throw new UsageError('The key is empty: --api-key KEY, or the variable GRPO_API_KEY.');
  if (key !== undefined && flags['without-key'])
    throw new UsageError('There is a key, and --without-key: take one of the two away.');
  const { isLoopback } = await addressOf(host);
  if (key === undefined && !flags['without-key'] && !isLoopback) {
    throw new UsageError(`--host ${host} lets other machines in, and there is no key.`, {
      hint: 'Set GRPO_API_KEY or give --api-key KEY; with --without-key everybody there may use and change the model.',
    });
  }
  return key;
}

/** The real path of a folder. @throws UserError */
function folderOf(written: string): string {
  const path = onFile('read', written, () => realpathSync.native(written));
  if (!statSync(path).isDirectory()) throw new UserError(`--weights-from ${written} is not a folder`);
  return path;
}
