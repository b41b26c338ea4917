/** The part of MLflow's REST surface that a run needs. */
import { z } from 'zod';
import type { MlflowSetting } from '../../config/sections/sinks.js';
import { excerpt } from '../../errors/printable.js';
import { ask, objectIn, Refused, type Server } from '../ask.js';
import { withoutSecrets } from '../secrets.js';
import { Undelivered } from '../sink.js';

export interface Metric {
  key: string;
  /** Protobuf's JSON names the numbers that JSON lacks. */
  value: number | string;
  /** In milliseconds. */
  timestamp: number;
  step: number;
}

/** A parameter or a tag. */
export interface Named {
  key: string;
  value: string;
}

export type RunStatus = 'RUNNING' | 'FINISHED' | 'FAILED' | 'KILLED';

const experimentId = z.object({ experiment_id: z.string() });
const runId = z.object({ info: z.object({ run_id: z.string() }) });
const anything = z.object({});

export class MlflowApi {
  constructor(private readonly server: Server) {}

  /** The id of the experiment, which is made where there is none. */
  async experiment(name: string): Promise<string> {
    try {
      const query = new URLSearchParams({ experiment_name: name });
      const found = await this.#ask(
        'GET',
        `experiments/get-by-name?${query}`,
        z.object({ experiment: experimentId }),
      );
      return found.experiment.experiment_id;
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'RESOURCE_DOES_NOT_EXIST')) throw error;
    }
    return (await this.#ask('POST', 'experiments/create', experimentId, { name })).experiment_id;
  }

  /** The id of the run with a tag; undefined where there is none. */
  async runWith(experiment: string, { key, value }: Named): Promise<string | undefined> {
    const { runs } = await this.#ask('POST', 'runs/search', z.object({ runs: z.array(runId).default([]) }), {
      experiment_ids: [experiment],
      filter: `tags.${key} = '${value}'`,
      max_results: 1,
    });
    return runs[0]?.info.run_id;
  }

  async createRun(experiment: string, name: string, time: number, tags: readonly Named[]): Promise<string> {
    const { run } = await this.#ask('POST', 'runs/create', z.object({ run: runId }), {
      experiment_id: experiment,
      run_name: name,
      start_time: time,
      tags,
    });
    return run.info.run_id;
  }

  async updateRun(run: string, status: RunStatus, endTime?: number): Promise<void> {
    const end = endTime === undefined ? {} : { end_time: endTime };
    await this.#ask('POST', 'runs/update', anything, { run_id: run, status, ...end });
  }

  async logBatch(
    run: string,
    batch: { metrics?: Metric[]; params?: Named[]; tags?: Named[] },
  ): Promise<void> {
    await this.#ask('POST', 'runs/log-batch', anything, { run_id: run, ...batch });
  }

  /** @throws Undelivered also for an answer that is not MLflow's */
  async #ask<T>(method: 'GET' | 'POST', path: string, answer: z.ZodType<T>, body?: object): Promise<T> {
    const text = await ask(this.server, method, `/api/2.0/mlflow/${path}`, body);
    const read = answer.safeParse(objectIn(text));
    if (read.success) return read.data;
    const { name, secrets } = this.server;
    throw new Undelivered(
      `${name} does not answer as MLflow does: ${excerpt(withoutSecrets(text, secrets))}`,
    );
  }
}

/** The server, with the key or the password that the environment has. */
export function mlflowServer({ mlflow }: MlflowSetting): Server {
  const {
    MLFLOW_TRACKING_TOKEN: token,
    MLFLOW_TRACKING_USERNAME: user,
    MLFLOW_TRACKING_PASSWORD: password,
  } = process.env;
  const basic = user && Buffer.from(`${user}:${password ?? ''}`).toString('base64');
  const url = mlflow.replace(/\/+$/, '');
  return {
    url,
    name: url,
    authorization: token ? `Bearer ${token}` : basic && `Basic ${basic}`,
    secrets: [token, password, basic].filter((secret) => secret !== undefined && secret !== '') as string[],
    unauthorized: 'Check MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD.',
  };
}
