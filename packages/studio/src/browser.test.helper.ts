/** Pages in a real Chromium, over the real server or a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';

const NAMES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this machine; without one the tests of the page are left out. */
export const CHROMIUM = process.env.CHROMIUM ?? NAMES.find((path) => existsSync(path));

const GRPO = fileURLToPath(new URL('../../grpo/bin/grpo.js', import.meta.url));

/** A browser takes a second to start: the test files of one process share it, and it ends with the process. */
let launched: Promise<Browser> | undefined;

function launch(): Promise<Browser> {
  // In a container root has no sandbox of its own.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  // Tests of signals send them to this process: they are not for the browser.
  const deaf = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return chromium.launch({ executablePath: CHROMIUM!, args, ...deaf });
}

/** Pages of one test file, and what went wrong in them: errors, refused resources, dialogs. */
export class Chromium implements AsyncDisposable {
  readonly problems: string[] = [];
  private readonly contexts: BrowserContext[] = [];

  async open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    launched ??= launch();
    const context = await (await launched).newContext({ viewport: { width: 1280, height: 900 }, ...options });
    this.contexts.push(context);
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('dialog', (dialog) => {
      this.problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(url);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.contexts.map((context) => context.close()));
  }
}

/** `grpo studio PATH…`, with the address that it prints. */
export class StudioServer implements Disposable {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static start(...argv: string[]): Promise<StudioServer> {
    const child = spawn(process.execPath, [GRPO, 'studio', '--port', '0', ...argv]);
    let said = '';
    return new Promise((resolve, reject) => {
      const hear = (text: Buffer) => {
        said += text;
        const url = /http:\/\/\S+/.exec(said)?.[0];
        if (url) resolve(new StudioServer(url, child));
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.on('exit', () => reject(new Error(`grpo studio has ended: ${said}`)));
    });
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
  }
}

/** A browser and a folder for the tests of the suite that calls this. */
export function useBrowser(): { browser: Chromium; folder: string } {
  const browser = new Chromium();
  const parent = join(tmpdir(), `grpo-studio-${randomUUID()}`);
  const folder = join(parent, 'runs');
  beforeAll(() => void mkdirSync(folder, { recursive: true }));
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    rmSync(parent, { recursive: true, force: true });
  });
  return { browser, folder };
}

/** The studio over a folder of runs, for the tests of the suite that makes it. No page may have a problem. */
export class OpenStudio {
  readonly browser: Chromium;
  /** The page names a run in it `/runs/NAME`. */
  readonly folder: string;
  /** The page that `open` goes to, the same for all tests. */
  page!: Page;
  private server!: StudioServer;

  /** @param writeRuns - fills the folder before the server starts */
  constructor(writeRuns: (folder: string) => void) {
    const { browser, folder } = useBrowser();
    [this.browser, this.folder] = [browser, folder];
    beforeAll(async () => {
      writeRuns(folder);
      this.server = await StudioServer.start(folder);
      this.page = await browser.open('about:blank');
    });
    afterAll(() => {
      expect(browser.problems).toEqual([]);
      this.server?.[Symbol.dispose]();
    });
  }

  urlOf(hash: string): string {
    return new URL(hash, this.server.url).href;
  }

  /** Loads a view anew, as for one who comes by a link. */
  async open(hash: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(this.urlOf(hash));
  }
}
