import { type SinkSetting, sinkName } from '../config/sections/sinks.js';
import { openCsv } from './csv.js';
import type { Sink } from './sink.js';
import type { SinkContext } from './sink-context.js';
import { openTensorBoard } from './tensorboard/tensorboard.js';

/**
 * Opens a sink. A server is not asked yet: it may be away.
 *
 * @throws UserError for a sink that cannot work
 */
export function openSink(setting: SinkSetting, context: SinkContext): Sink {
  switch (sinkName(setting)) {
    case 'csv':
      return openCsv(context);
    case 'tensorboard':
      return openTensorBoard(context);
  }
}
