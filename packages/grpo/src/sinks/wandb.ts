/**
 * A run of Weights & Biases, by its own package `@wandb/sdk`, which is installed by whoever wants it. The package is a
 * beta: it takes numbers only, tells nobody whether they arrived, and begins each run's history at its first row.
 */
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import { readRecord } from '../config/config-record.js';
import type { WandbSetting } from '../config/sections/sinks.js';
import { UserError } from '../errors/user-error.js';
import { withoutSecrets } from './secrets.js';
import { type Item, type Sink, Undelivered } from './sink.js';
import type { SinkContext } from './sink-context.js';

const PACKAGE = '@wandb/sdk';
/** Seconds that the package may take to begin a run, and to end it: where the server is away it waits for ever. */
const PATIENCE = 60;

/** The part of the package that is used. */
export interface WandbSdk {
  init(options: Record<string, unknown>): Promise<WandbRun>;
}
interface WandbRun {
  log(data: Record<string, number>, step: number, commit: boolean): void;
  finish(code: number): Promise<void>;
}

async function load(): Promise<WandbSdk> {
  // The package prints the stack of each attempt that fails; the thread of the sinks says once why.
  console.error = () => undefined;
  return ((await import(PACKAGE)) as { default: WandbSdk }).default;
}

/** @throws UserError without the package, or without a key */
export function requireWandb(): void {
  try {
    createRequire(import.meta.url).resolve(PACKAGE);
  } catch (cause) {
    throw new UserError(`sinks: wandb needs the package ${PACKAGE}, which is not installed`, {
      hint: `npm install ${PACKAGE}@0.5.1, or take wandb out of sinks.`,
      cause,
    });
  }
  if (!process.env.WANDB_API_KEY?.trim())
    throw new UserError('sinks: wandb needs a key, and the environment variable WANDB_API_KEY is not set', {
      hint: 'https://wandb.ai/authorize shows yours.',
    });
}

/** @param sdk - the package */
export function openWandb({ folder, done }: SinkContext, setting: WandbSetting, sdk = load): Sink {
  let run: WandbRun | undefined;
  let failure: string | undefined;
  // Errors of the network are thrown by the package where nobody can catch them.
  process.on('uncaughtException', ({ message }: Error) => {
    failure ??= withoutKey(message);
  });
  const begin = async () => {
    failure = undefined;
    const { init } = await sdk();
    const name = setting.name ?? basename(resolve(folder));
    const { values } = readRecord(folder);
    const begun = init({
      project: setting.wandb,
      ...(setting.entity !== undefined && { entity: setting.entity }),
      // The history of a run cannot be gone on with.
      name: done === 0 ? name : `${name}-after-${done}`,
      config: Object.fromEntries(Object.entries(values).map(([key, { value }]) => [key, value ?? null])),
    });
    return within(begun, () => failure);
  };
  return {
    place: `project ${setting.wandb}`,
    async send(items) {
      run ??= await begin();
      for (const item of items) log(run, item);
      const last = items.at(-1)!;
      if (last.kind === 'end') await within(run.finish(last.outcome.how === 'done' ? 0 : 1), () => failure);
      if (failure !== undefined) throw new Error(`${PACKAGE} failed: ${failure}`);
    },
  };
}

function log(run: WandbRun, item: Item): void {
  if (item.kind === 'step') run.log(finite(item.values), item.step, true);
  // A row of its own would be taken for that of a later step: it waits for the next one.
  if (item.kind === 'evaluation')
    run.log({ ...finite(item.values, 'eval/'), 'eval/step': item.step }, item.step, false);
}

/** The numbers that JSON has: the package would write others as null. */
const finite = (values: Readonly<Record<string, number>>, prefix = '') =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      Number.isFinite(value) ? [[prefix + name, value]] : [],
    ),
  );

/**
 * Waits for the package, but not for ever.
 *
 * @throws Undelivered where it fails: its server may be away
 */
async function within<T>(work: Promise<T>, failure: () => string | undefined): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const begun = performance.now();
    timer = setInterval(() => {
      const reason =
        failure() ??
        (performance.now() - begun > 1000 * PATIENCE ? `no answer within ${PATIENCE} s` : undefined);
      if (reason !== undefined) reject(new Undelivered(`${PACKAGE}: ${reason}`));
    }, 100);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    if (error instanceof Undelivered) throw error;
    throw new Undelivered(`${PACKAGE}: ${withoutKey((error as Error).message)}`);
  } finally {
    clearInterval(timer);
  }
}

function withoutKey(text: string): string {
  const key = process.env.WANDB_API_KEY?.trim();
  return key ? withoutSecrets(text, [key]) : text;
}
