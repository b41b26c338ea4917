/** A server that takes the documented requests of MLflow's REST surface and no others, and behaves badly when told to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { z } from 'zod';

/** What becomes of a request; `cut` is done, but the answer breaks off. */
export type Behaviour =
  | 'ok'
  | 'slow'
  | 'dropped'
  | 'cut'
  | { status: number; retryAfter?: string; body?: string };

const key = z
  .string()
  .max(250)
  .regex(/^[\w\-./ ]+$/);
const named = z.strictObject({ key, value: z.string().min(1).max(250) });
const metric = z.strictObject({
  key,
  value: z.union([z.number(), z.enum(['NaN', 'Infinity', '-Infinity'])]),
  timestamp: z.int().positive(),
  step: z.int().nonnegative(),
});
const status = z.enum(['RUNNING', 'SCHEDULED', 'FINISHED', 'FAILED', 'KILLED']);

const BODIES = {
  'experiments/create': z.strictObject({ name: z.string().min(1) }),
  'runs/search': z.strictObject({
    experiment_ids: z.array(z.string()),
    filter: z.string().regex(/^tags\.\w+ = '[^']*'$/),
    max_results: z.int().positive(),
  }),
  'runs/create': z.strictObject({
    experiment_id: z.string(),
    run_name: z.string(),
    start_time: z.int(),
    tags: z.array(named).max(100),
  }),
  'runs/update': z.strictObject({ run_id: z.string(), status, end_time: z.int().optional() }),
  'runs/log-batch': z
    .strictObject({
      run_id: z.string(),
      metrics: z.array(metric).max(1000).optional(),
      params: z.array(named).max(100).optional(),
      tags: z.array(named).max(100).optional(),
    })
    .refine(
      ({ metrics = [], params = [], tags = [] }) => metrics.length + params.length + tags.length <= 1000,
    ),
};

interface StoredRun {
  experiment: string;
  name: string;
  status: string;
  end: number | undefined;
  params: Map<string, string>;
  tags: Map<string, string>;
  /** In order; one that is equal in all fields is stored once, as MLflow's database does. */
  metrics: z.output<typeof metric>[];
}

class Answer extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

export class MlflowServer {
  readonly experiments = new Map<string, string>();
  readonly runs = new Map<string, StoredRun>();
  /** Requests by their path, in order. */
  readonly requests: string[] = [];
  readonly authorizations = new Set<string | undefined>();
  /** Metrics in all requests that were answered. */
  received = 0;
  url = '';
  /** For each request to come; afterwards all is well. */
  behaviours: Behaviour[] = [];

  static async start(port = 0): Promise<MlflowServer> {
    const served = new MlflowServer();
    const server = createServer((request, response) => void served.#serve(request, response));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    served.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return served;
  }

  get run(): StoredRun {
    if (this.runs.size !== 1) throw new Error(`${this.runs.size} runs`);
    return [...this.runs.values()][0]!;
  }

  /** Steps of a metric, in the order in which they came. */
  stepsOf(name: string): number[] {
    return this.run.metrics.filter((one) => one.key === name).map(({ step }) => step);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const url = new URL(request.url!, this.url);
    const path = url.pathname.replace('/api/2.0/mlflow/', '');
    this.requests.push(path);
    this.authorizations.add(request.headers.authorization);
    const behaviour = this.behaviours.shift() ?? 'ok';
    if (behaviour === 'dropped') return void request.socket.destroy();
    if (behaviour === 'slow') await sleep(50);
    if (typeof behaviour === 'object') {
      const { status, retryAfter, body: text = '' } = behaviour;
      response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
      return void response.end(text);
    }
    const { status, answer } = this.#answer(request, path, url.searchParams, body);
    const text = JSON.stringify(answer);
    response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
    });
    if (behaviour !== 'cut') return void response.end(text);
    response.write(text.slice(0, 1), () => request.socket.destroy());
  }

  #answer(request: IncomingMessage, path: string, query: URLSearchParams, body: Buffer) {
    try {
      return { status: 200, answer: this.#do(request, path, query, body) };
    } catch (error) {
      if (!(error instanceof Answer)) throw error;
      return { status: error.status, answer: { error_code: error.code, message: error.message } };
    }
  }

  #do({ method, headers }: IncomingMessage, path: string, query: URLSearchParams, body: Buffer): object {
    if (path === 'experiments/get-by-name') {
      const name = query.get('experiment_name');
      const id = this.experiments.get(name ?? '');
      if (method !== 'GET' || name === null || body.length > 0) throw invalid('GET experiment_name');
      if (id === undefined) throw missing(`No experiment '${name}'`);
      return { experiment: { experiment_id: id, name, lifecycle_stage: 'active' } };
    }
    const schema = BODIES[path as keyof typeof BODIES];
    if (!schema || method !== 'POST' || headers['content-type'] !== 'application/json') throw invalid(path);
    if (body.length > 1e6) throw invalid(`${body.length} bytes`);
    const read = schema.safeParse(JSON.parse(body.toString()));
    if (!read.success) throw invalid(z.prettifyError(read.error));
    return this.#post(read.data);
  }

  #post(body: z.output<(typeof BODIES)[keyof typeof BODIES]>): object {
    if ('name' in body) {
      if (this.experiments.has(body.name)) throw new Answer(400, 'RESOURCE_ALREADY_EXISTS', 'exists');
      this.experiments.set(body.name, String(this.experiments.size + 1));
      return { experiment_id: this.experiments.get(body.name) };
    }
    if ('filter' in body) {
      const [, tag, value] = /^tags\.(\w+) = '(.*)'$/.exec(body.filter)!;
      const found = [...this.runs].filter(
        ([, run]) => body.experiment_ids.includes(run.experiment) && run.tags.get(tag!) === value,
      );
      return found.length === 0 ? {} : { runs: found.map(([id]) => ({ info: { run_id: id }, data: {} })) };
    }
    if ('run_name' in body) {
      if (![...this.experiments.values()].includes(body.experiment_id)) throw missing('No experiment');
      const id = `run${this.runs.size + 1}`;
      const tags = new Map(body.tags.map(({ key, value }) => [key, value]));
      const made = { experiment: body.experiment_id, name: body.run_name, status: 'RUNNING', end: undefined };
      this.runs.set(id, { ...made, tags, params: new Map(), metrics: [] });
      return { run: { info: { run_id: id }, data: {} } };
    }
    const run = this.runs.get(body.run_id);
    if (!run) throw missing(`Run '${body.run_id}' not found`);
    if ('status' in body) Object.assign(run, { status: body.status, end: body.end_time });
    else this.#log(run, body);
    return {};
  }

  #log(run: StoredRun, body: z.output<(typeof BODIES)['runs/log-batch']>): void {
    for (const { key, value } of body.params ?? []) {
      if (![undefined, value].includes(run.params.get(key)))
        throw invalid(`the param ${key} has another value`);
      run.params.set(key, value);
    }
    for (const { key, value } of body.tags ?? []) run.tags.set(key, value);
    this.received += body.metrics?.length ?? 0;
    const known = new Set(run.metrics.map((one) => JSON.stringify(one)));
    for (const one of body.metrics ?? []) if (!known.has(JSON.stringify(one))) run.metrics.push(one);
  }
}

const invalid = (message: string) => new Answer(400, 'INVALID_PARAMETER_VALUE', message);
const missing = (message: string) => new Answer(404, 'RESOURCE_DOES_NOT_EXIST', message);
