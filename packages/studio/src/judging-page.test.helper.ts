/** A path judged by the page in a browser, and by `grpo doctor`. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { ElementHandle } from 'playwright-core';
import { jsonReport } from '../../grpo/dist/cli/doctor/data.js';
import { writePage } from '../../grpo/dist/cli/studio/bundle/write-bundle.js';
import { readPage } from '../../grpo/dist/cli/studio/page.js';
import { registry } from '../../grpo/dist/doctor/registry.js';
import { Watch } from '../../grpo/dist/progress/watch.js';
import type { RunReport } from '../../grpo/dist/studio/index.js';
import { readRun } from '../../grpo/dist/trace/readers/index.js';
import { examineReading } from '../../grpo/dist/view/report/examine-reading.js';
import { reportOf } from '../../grpo/dist/view/report/report.js';
import type { Chromium } from './browser.test.helper.js';

/**
 * What is said of one run, as JSON: findings with their sentences, how often each check was made, the notes. Or the error.
 */
export type Told = string;

const toldOf = (
  findings: readonly object[],
  checks: readonly Pick<RunReport['checks'][number], 'code' | 'verdict' | 'judged'>[],
  summary: string,
  notes: readonly string[],
) => {
  const made = checks.map(({ code, verdict, judged }) => `${code} ${verdict} ${judged}`);
  return JSON.stringify({ findings, made, summary, notes }, rounded);
};

/** Exponentials and logarithms of two engines may differ in the last digit. */
const DIGITS = 12;

const rounded = (_: string, value: unknown) =>
  typeof value === 'number' ? Number(value.toPrecision(DIGITS)) : value;

/** What `grpo doctor --json` says of the runs at a path. */
export async function toldByDoctor(path: string): Promise<Told[]> {
  const runs = await attempt(async () => {
    const reading = await readRun(path);
    return reading.runs ?? [{ name: '', read: async () => reading }];
  });
  if (typeof runs === 'string') return [runs.replaceAll(dirname(path), '')];
  const told: Told[] = [];
  for (const { read } of runs) {
    const one = await attempt(async () => {
      const { examined, diagnosis } = examineReading(path, await read());
      const { findings, judgements } = JSON.parse(jsonReport(examined, diagnosis));
      const { summary, notes } = reportOf(examined, diagnosis, registry);
      return toldOf(
        findings.map(({ name: _, proved: __, ...finding }: { name: string; proved: boolean }) => finding),
        judgements,
        summary,
        notes,
      );
    });
    told.push(one.replaceAll(dirname(path), ''));
  }
  return told;
}

/** What `body` returns, or what it throws in words. */
async function attempt<T>(body: () => Promise<T>): Promise<T | string> {
  try {
    return await body();
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    return JSON.stringify({ message, hint });
  }
}

/** The page of the doctor in a browser, of which the worker is asked. */
export class JudgingPage {
  private constructor(private readonly pickers: Record<'file' | 'folder', ElementHandle<HTMLInputElement>>) {}

  static async open(browser: Chromium): Promise<JudgingPage> {
    const folder = mkdtempSync(join(tmpdir(), 'grpo-page-'));
    const file = join(folder, 'index.html');
    writePage(file, { page: readPage(), files: [], watch: new Watch() });
    const page = await browser.open('about:blank');
    await page.addInitScript(() => {
      const Made = globalThis.Worker;
      globalThis.Worker = class extends Made {
        constructor(url: string | URL) {
          super(url);
          (globalThis as unknown as { workerUrl: string | URL }).workerUrl = url;
        }
      };
    });
    await page.goto(`file://${file}`);
    rmSync(folder, { recursive: true });
    const picker = async (isFolder: boolean) =>
      (await page.evaluateHandle((asFolder) => {
        const input = document.createElement('input');
        input.type = 'file';
        input.webkitdirectory = asFolder;
        document.body.append(input);
        return input;
      }, isFolder)) as ElementHandle<HTMLInputElement>;
    return new JudgingPage({ file: await picker(false), folder: await picker(true) });
  }

  /** @param count - how many runs there are; with one, its id is the path */
  async judge(path: string, count: number): Promise<Told[]> {
    const picker = this.pickers[statSync(path).isDirectory() ? 'folder' : 'file'];
    await picker.setInputFiles(path);
    const root = `/${basename(path)}`;
    const runs = Array.from({ length: count }, (_, i) => (count === 1 ? root : `${root}#${i + 1}`));
    const answers = await picker.evaluate(async (input, ids) => {
      const { workerUrl } = globalThis as unknown as { workerUrl: string };
      const worker = new Worker(workerUrl);
      const files = [...input.files!].map((file) => ({
        path: `/${file.webkitRelativePath || file.name}`,
        file,
      }));
      worker.postMessage({ kind: 'files', files: { kind: 'dropped', files } });
      const finite = (_: string, value: unknown) =>
        typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
      const answers: string[] = [];
      for (const run of ids) {
        const answer = await new Promise<Record<string, unknown>>((resolve, reject) => {
          worker.onmessage = ({ data }) => data.kind !== 'reading' && resolve(data);
          worker.onerror = (event) => reject(new Error(event.message));
          worker.postMessage({ kind: 'ask', id: 1, name: 'report', input: { run } });
        });
        const { kind, output, message, hint } = answer;
        answers.push(JSON.stringify(kind === 'failure' ? { message, hint } : output, finite));
      }
      worker.terminate();
      return answers;
    }, runs);
    return answers.map((text) => {
      const answer = JSON.parse(text) as RunReport | { message: string };
      if ('message' in answer) return text;
      const { links, checks, summary, notes } = answer;
      return toldOf(
        links.map(({ finding, says }) => ({ ...finding, says })),
        checks,
        summary,
        notes,
      );
    });
  }
}
