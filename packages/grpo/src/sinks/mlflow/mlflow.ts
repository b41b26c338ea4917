/** A run of an MLflow server: numbers of steps and evaluations as metrics, settings as parameters. */
import { randomUUID } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { readRecord } from '../../config/config-record.js';
import type { MlflowSetting } from '../../config/sections/sinks.js';
import type { Item, RunOutcome, Sink } from '../sink.js';
import type { SinkContext } from '../sink-context.js';
import { batches, shortText } from './batches.js';
import { type Metric, MlflowApi, mlflowServer, type Named, type RunStatus } from './mlflow-api.js';

/** Tag of the run with a name that we give: an answer that was lost on its way leaves no second run. */
const KEY = 'grpo_key';

const ENDS: Readonly<Record<RunOutcome['how'], RunStatus>> = {
  done: 'FINISHED',
  interrupted: 'KILLED',
  stopped: 'FAILED',
  crashed: 'FAILED',
};

export function openMlflow({ folder, cursor }: SinkContext, setting: MlflowSetting): Sink {
  const server = mlflowServer(setting);
  const api = new MlflowApi(server);
  /** Of the items that are being sent, those that the server has. */
  const taken = new WeakSet<Item>();
  let run: string | undefined;

  /** Finds the run or makes it. Whatever was done before an error is not done again. */
  async function begin(time: number): Promise<string> {
    let id = cursor.names.run;
    if (id !== undefined) await api.updateRun(id, 'RUNNING');
    else {
      if (cursor.names.key === undefined) cursor.remember({ key: randomUUID() });
      const tag = { key: KEY, value: cursor.names.key! };
      const experiment = await api.experiment(setting.experiment);
      const name = setting.name ?? basename(resolve(folder));
      id = (await api.runWith(experiment, tag)) ?? (await api.createRun(experiment, name, time, tagsOf(tag)));
      cursor.remember({ run: id });
    }
    if (cursor.names.params === undefined) {
      for (const params of batches(paramsOf(folder), 100)) await api.logBatch(id, { params });
      cursor.remember({ params: 'sent' });
    }
    return id;
  }

  return {
    place: server.name,
    async send(items) {
      run ??= await begin(milliseconds(items[0]!.time));
      const left = items.filter((item) => !taken.has(item));
      for (const some of groupsOf(left)) {
        for (const metrics of batches(some.flatMap(metricsOf), 1000)) await api.logBatch(run, { metrics });
        for (const item of some) taken.add(item);
      }
      const last = items.at(-1)!;
      if (last.kind === 'end') await end(run, last.outcome, milliseconds(last.time));
    },
  };

  async function end(id: string, { how, reason }: RunOutcome, time: number): Promise<void> {
    const tags = reason === undefined ? [] : [{ key: 'grpo_end', value: shortText(reason) }];
    if (tags.length > 0) await api.logBatch(id, { tags });
    await api.updateRun(id, ENDS[how], time);
  }
}

const tagsOf = (key: Named): Named[] => [
  key,
  { key: 'mlflow.source.name', value: 'grpo' },
  { key: 'mlflow.source.type', value: 'LOCAL' },
];

/** Every setting of the run by its key; those that are not set are left out. */
const paramsOf = (folder: string): Named[] =>
  Object.entries(readRecord(folder).values).flatMap(([key, { value }]) => {
    if (value === undefined || value === '') return [];
    return [{ key, value: shortText(typeof value === 'string' ? value : JSON.stringify(value)) }];
  });

/** Items whose metrics fit into one request, as most do. */
function groupsOf(items: readonly Item[]): Item[][] {
  const groups: Item[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const count = 'values' in item ? Object.keys(item.values).length : 0;
    if (size + count > 1000) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1)!.push(item);
    size += count;
  }
  return groups;
}

function metricsOf(item: Item): Metric[] {
  if (!('values' in item)) return [];
  const prefix = item.kind === 'evaluation' ? 'eval/' : '';
  const { step } = item;
  const timestamp = milliseconds(item.time);
  return Object.entries(item.values).map(([name, value]) => ({
    // MLflow refuses other characters; the name of a reward may have them.
    key: (prefix + name).replace(/[^\w\-./ ]/g, '_').slice(0, 250),
    value: Number.isFinite(value) ? value : String(value),
    timestamp,
    step,
  }));
}

const milliseconds = (seconds: number) => Math.round(1000 * seconds);
