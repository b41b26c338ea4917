import { z } from 'zod';

const name = z.string().min(1);

const webhook = z.strictObject({
  webhook: name,
  format: z.enum(['slack', 'discord', 'json']).optional(),
  events: z.array(z.enum(['finding', 'end', 'crash'])).default(['finding', 'end', 'crash']),
});

const mlflow = z.strictObject({ mlflow: name, experiment: name.default('grpo'), name: name.optional() });

const wandb = z.strictObject({ wandb: name, entity: name.optional(), name: name.optional() });

const sink = z.union([z.enum(['csv', 'tensorboard']), webhook, mlflow, wandb]);

export type WebhookSetting = z.output<typeof webhook>;
export type MlflowSetting = z.output<typeof mlflow>;
export type WandbSetting = z.output<typeof wandb>;

/** One of `sinks`. */
export type SinkSetting = z.output<typeof sink>;

/** The kind of a sink, which is its name: a run has one of each. */
export function sinkName(setting: SinkSetting): string {
  if (typeof setting === 'string') return setting;
  return 'webhook' in setting ? 'webhook' : 'mlflow' in setting ? 'mlflow' : 'wandb';
}

/** Where a run's numbers go beside its own files. */
export const sinksList = z
  .array(sink)
  .default([])
  .describe(
    "Where else the run's numbers go while it trains: csv, tensorboard, {mlflow: URL, experiment, name}, {wandb: PROJECT, name, entity}, {webhook: URL or the environment variable that holds it, format, events}. Keys come from the environment",
  );

/** Whether a webhook is named by the environment variable that holds its address. */
export const isVariable = (webhook: string): boolean => /^[A-Za-z_]\w*$/.test(webhook);

/** Hosts whose webhooks need nothing but their address: whoever knows it may post. */
const SECRET_HOST = /(^|\.)(slack\.com|discord(app)?\.com)$/;
/** A long part of a path with a digit in it, which other hosts' webhooks are known by. */
const KEY_IN_PATH = /\/(?=[^/]*\d)[^/]{16,}/;

/** Why a sink's settings are wrong; undefined when all is well. */
export function sinkProblem(setting: SinkSetting): string | undefined {
  if (typeof setting === 'string' || 'wandb' in setting) return undefined;
  const place = 'webhook' in setting ? setting.webhook : setting.mlflow;
  if ('webhook' in setting && isVariable(place)) return undefined;
  const url = URL.canParse(place) ? new URL(place) : undefined;
  const kind = sinkName(setting);
  if (!url || !/^https?:$/.test(url.protocol))
    return `${kind} is not the address of a server. Give http://… or https://…`;
  const isSecret =
    url.username !== '' ||
    url.password !== '' ||
    url.search !== '' ||
    (kind === 'webhook' && (SECRET_HOST.test(url.hostname) || KEY_IN_PATH.test(url.pathname)));
  if (!isSecret) return undefined;
  return kind === 'webhook'
    ? `the address of the webhook at ${url.host} is a secret, and config.json would keep it. Put it into an environment variable and give its name: {webhook: GRPO_WEBHOOK_URL}`
    : `the address of mlflow has a name, password or query in it, and config.json would keep it. Keys belong into MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD`;
}
