import type { SinkSetting } from '../config/sections/sinks.js';
import { openCsv } from './csv.js';
import { openMlflow } from './mlflow/mlflow.js';
import type { Sink } from './sink.js';
import type { SinkContext } from './sink-context.js';
import { openTensorBoard } from './tensorboard/tensorboard.js';
import { openWandb, requireWandb } from './wandb.js';
import { openWebhook, webhookServer } from './webhook.js';

/**
 * Opens a sink. A server is not asked yet: it may be away.
 *
 * @throws UserError for a sink that cannot work
 */
export function openSink(setting: SinkSetting, context: SinkContext): Sink {
  if (setting === 'csv') return openCsv(context);
  if (setting === 'tensorboard') return openTensorBoard(context);
  if ('webhook' in setting) return openWebhook(context, setting);
  return 'mlflow' in setting ? openMlflow(context, setting) : openWandb(context, setting);
}

/**
 * Looks for what sinks need of the environment, before a run has a folder.
 *
 * @throws UserError for the first sink that cannot work
 */
export function requireSinks(sinks: readonly SinkSetting[]): void {
  for (const setting of sinks) {
    if (typeof setting === 'string') continue;
    if ('webhook' in setting) webhookServer(setting);
    if ('wandb' in setting) requireWandb();
  }
}
